import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TemporaryFolders } from '../core/index.ts'

/** A temporary folder for each session that asks for one, readable by this user only. */
export function createTemporaryFolders(): TemporaryFolders {
  const folders = new Map<string, Promise<string>>()
  async function remove(sessionId: string): Promise<void> {
    const made = folders.get(sessionId)
    folders.delete(sessionId)
    const folder = await made?.catch(() => undefined)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return {
    of(sessionId) {
      const folder = folders.get(sessionId) ?? mkdtemp(join(tmpdir(), 'parley-tools-'))
      folders.set(sessionId, folder)
      folder.catch(() => folders.delete(sessionId))
      return folder
    },
    remove,
    async removeAll() {
      await Promise.all([...folders.keys()].map(remove))
    },
  }
}
