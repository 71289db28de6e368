import { setImmediate } from 'node:timers/promises'
import type { SqliteDatabase } from './sqlite-database.ts'

/** So many events, or pages, at once; whatever else waits for the store comes between. */
const eventsAtOnce = 64
const pagesAtOnce = 64

export type SqliteDeletions = {
  /** Within the transaction that removes the session: its events are to go, even if this process does not live to do it. */
  mark(key: number): void
  /**
   * Removes every event that is marked, gives the space back to the disk, and empties the WAL. Does not reject: if the
   * disk refuses, or the store is closed meanwhile, the next start goes on with it.
   */
  finish(): Promise<void>
}

/**
 * Deletes for good. SQLite overwrites what is deleted (`secure_delete`), so after `finish` no file holds a byte of it.
 * A large session takes a while, so its events go in steps.
 */
export function createSqliteDeletions(
  database: SqliteDatabase,
  rangeOf: (key: number) => readonly [after: number, before: number],
): SqliteDeletions {
  const insert = database.prepare('INSERT INTO deletions VALUES (?)')
  const next = database.prepare('SELECT session_key AS key FROM deletions LIMIT 1')
  const remove = database.prepare('DELETE FROM deletions WHERE session_key = ?')
  const deleteSome = database.prepare(
    'DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id > ? AND id < ? LIMIT ?)',
  )
  const freePages = database.prepare('PRAGMA freelist_count')

  /** False if nothing was left to do. */
  function deleteStep(): boolean {
    return database.write(() => {
      const marked = next.get() as { key: number } | undefined
      if (!marked) return false
      const { changes } = deleteSome.run(...rangeOf(marked.key), eventsAtOnce)
      if (Number(changes) < eventsAtOnce) remove.run(marked.key)
      return true
    })
  }

  function shrinkStep(): boolean {
    const free = () => (database.read(() => freePages.get()) as { freelist_count: number }).freelist_count
    const before = free()
    if (before > 0) database.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`)
    // A file of an older Parley that could not be converted does not shrink.
    return before > 0 && free() < before
  }

  return {
    mark: (key) => void insert.run(key),
    async finish() {
      try {
        if (!deleteStep()) return
        do await setImmediate()
        while (deleteStep())
        while (shrinkStep()) await setImmediate()
        database.emptyWal()
      } catch {
        // The marks are still there.
      }
    },
  }
}
