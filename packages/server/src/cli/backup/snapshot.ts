import { readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { databaseFile } from '../configuration.ts'

/** A snapshot that is older than this is abandoned: the command that requested it was killed. */
const abandonedMs = 3_600_000

export function snapshotName(name: string): string {
  return `parley.sqlite.snapshot-${name}`
}

type Copyable = { copyTo(file: string): Promise<void> }

/**
 * Copies the database of a running server into its data folder. The command that requested the copy removes
 * it.
 */
export async function takeSnapshot(store: Copyable, dataDir: string, name: string) {
  prepareSnapshot(dataDir)
  const file = snapshotName(name)
  await store.copyTo(join(dataDir, file))
  return { file, bytes: statSync(join(dataDir, file)).size }
}

/** Removes abandoned copies, and throws a ParleyError if the disk has no space for a copy. */
export function prepareSnapshot(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name)
    if (!name.startsWith(snapshotName(''))) continue
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
    if (Date.now() - mtimeMs > abandonedMs) rmSync(path, { force: true })
  }
  refuseFullDisk(dataDir, statSync(databaseFile(dataDir)).size)
}

/** Throws a ParleyError unless the disk has more than `bytes` of free space. */
export function refuseFullDisk(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize > bytes) return
  const [needed, free] = [bytes, bavail * bsize].map((count) => `${Math.ceil(count / 1_000_000)} MB`)
  throw new ParleyError(
    'busy',
    `The disk of ${folder} has ${free} free, and ${needed} are needed. Nothing was changed.`,
  )
}
