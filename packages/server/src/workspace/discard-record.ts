import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Discarded } from '@parley/protocol'
import { type Entries, entriesIn, type TreeEntry } from './restore.ts'
import type { ShadowFolder } from './shadow-folder.ts'

/**
 * The entries that a discard is about to write. The record is stored in the shadow before the discard, and kept for a
 * day. If the server is killed before the discard is in the log, the repeated command finds in this record whether
 * its work is done, and how to undo it.
 */
export type DiscardRecord = Pick<Discarded, 'base' | 'before' | 'staged'> & {
  readonly entries: readonly (readonly [string, TreeEntry | null])[]
}

const keptMs = 24 * 60 * 60 * 1000

export function discardRecords(at: ShadowFolder, sessionId: string, commandId: string) {
  const folder = join(at.shadow.place, 'discards')
  const name = createHash('sha256')
    .update(JSON.stringify([sessionId, commandId]))
    .digest('hex')
  return {
    async write(base: string, before: string, staged: Discarded['staged'], entries: Entries): Promise<void> {
      await mkdir(folder, { recursive: true })
      await removeOld(folder)
      const listed = [...entries].map(([path, entry]) => [path, entry ?? null] as const)
      const record: DiscardRecord = { base, before, entries: listed, ...(staged && { staged }) }
      const made = join(folder, `.${randomBytes(6).toString('hex')}`)
      await writeFile(made, JSON.stringify(record), { mode: 0o600 })
      await rename(made, join(folder, name))
    },
    /**
     * Returns the record of this command if the work tree `now` has the recorded entries, which means that the
     * discard is complete.
     */
    async done(now: string): Promise<DiscardRecord | undefined> {
      const text = await readFile(join(folder, name), 'utf8').catch(() => undefined)
      if (text === undefined) return undefined
      const record = JSON.parse(text) as DiscardRecord
      const present = await entriesIn(at, now, new Set(record.entries.map(([path]) => path)))
      const isDone = record.entries.every(([path, entry]) => {
        const found = present.get(path)
        return entry ? found?.mode === entry.mode && found.object === entry.object : !found
      })
      return isDone ? record : undefined
    },
  }
}

async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > keptMs) await rm(join(folder, name), { force: true })
  }
}
