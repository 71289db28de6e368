import { setImmediate } from 'node:timers/promises'
import type { SqliteDatabase } from './sqlite-database.ts'

/** The number of events or pages that are deleted at once. Other work for the store runs in between. */
const eventsAtOnce = 64
const pagesAtOnce = 64

/**
 * Deletes permanently. SQLite overwrites deleted data (`secure_delete`), so after `finish` no file contains a byte of
 * it. A large session takes a while, so its events are deleted in steps.
 */
export function createSqliteDeletions(
  database: SqliteDatabase,
  rangeOf: (key: number) => readonly [after: number, before: number],
) {
  const insert = database.prepare('INSERT INTO deletions VALUES (?)')
  const next = database.prepare('SELECT session_key AS key FROM deletions LIMIT 1')
  const remove = database.prepare('DELETE FROM deletions WHERE session_key = ?')
  const deleteSome = database.prepare(
    'DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id > ? AND id < ? LIMIT ?)',
  )
  const freePages = database.prepare('PRAGMA freelist_count')

  /** Deletes some of the marked events. Returns false if there were none. */
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
    // False if no page was freed: a file of an older version that could not be converted does not shrink.
    return before > 0 && free() < before
  }

  return {
    /**
     * Marks the events of a session for deletion, in the transaction that deletes the session. They are deleted even
     * if this process ends first.
     */
    mark: (key: number) => void insert.run(key),
    /**
     * Deletes every marked event, returns the space to the disk, and empties the WAL. Does not reject: if the disk
     * refuses, or the store is closed meanwhile, the next start resumes the deletion.
     */
    async finish(): Promise<void> {
      try {
        if (!deleteStep()) return
        do await setImmediate()
        while (deleteStep())
        while (shrinkStep()) await setImmediate()
        database.emptyWal()
      } catch {
        // The marks are kept, so the next start resumes the deletion.
      }
    },
  }
}
