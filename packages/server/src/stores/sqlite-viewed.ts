import type { ViewedFile } from '@parley/protocol'
import { type ViewedStore, viewedMarkSize } from '../core/viewed-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

export function createSqliteViewed(database: SqliteDatabase): ViewedStore {
  const select = database.prepare(
    'SELECT path, blob FROM viewed WHERE session = ? AND person = ? ORDER BY number',
  )
  const remove = database.prepare('DELETE FROM viewed WHERE session = ? AND person = ? AND path = ?')
  const insert = database.prepare(
    `INSERT INTO viewed (session, person, path, blob)
     SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?1)`,
  )
  const prune = database.prepare(`DELETE FROM viewed WHERE number IN (${tooOld('?1', '?2', '?3')})`)
  return {
    viewedFiles: async (sessionId, personId) =>
      // Rows of node:sqlite have no prototype.
      database.read(() => (select.all(sessionId, personId) as ViewedFile[]).map((row) => ({ ...row }))),
    async markViewed(sessionId, personId, files, most) {
      database.write(() => {
        for (const { path, blob } of files) {
          remove.run(sessionId, personId, path)
          if (blob !== null) insert.run(sessionId, personId, path, blob)
        }
        prune.run(sessionId, personId, most)
      })
    },
  }
}

/** Selects the marks that must be removed, so that the size of the others is at most `most`. */
export function tooOld(session: string, person: string, most: string): string {
  return `SELECT number FROM (
    SELECT number, sum(length(path) + ${viewedMarkSize}) OVER (ORDER BY number DESC) AS size
    FROM viewed WHERE session = ${session} AND person = ${person}) AS sized WHERE size > ${most}`
}

/** Deletes the marks of a session, in the transaction that deletes the session. */
export function createViewedRemoval(database: SqliteDatabase): (sessionId: string) => void {
  const remove = database.prepare('DELETE FROM viewed WHERE session = ?')
  return (sessionId) => void remove.run(sessionId)
}
