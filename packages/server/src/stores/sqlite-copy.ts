import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { backup, type DatabaseSync } from 'node:sqlite'
import { sqliteFailure } from './sqlite-failure.ts'

/** The number of pages that are copied at once. Other work on the database waits at most for this many pages. */
const pagesAtOnce = 64

/**
 * Copies an open database to a new file, readable only by this user. The copy includes writes that are made meanwhile.
 * The file is on the disk when the promise resolves. If the copy fails, the file is removed.
 */
export async function copyDatabase(db: DatabaseSync, file: string): Promise<void> {
  // SQLite fills an empty file, and keeps its permissions.
  closeSync(openSync(file, 'wx', 0o600))
  try {
    await backup(db, file, { rate: pagesAtOnce })
    const copied = openSync(file, 'r+')
    fsyncSync(copied)
    closeSync(copied)
  } catch (thrown) {
    rmSync(file, { force: true })
    throw sqliteFailure(thrown, file)
  }
}
