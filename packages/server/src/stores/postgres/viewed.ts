import type { ViewedStore } from '../../core/viewed-store.ts'
import { tooOld } from '../sqlite-viewed.ts'
import type { PostgresDatabase } from './database.ts'
import { original, safeText } from './session-columns.ts'

export function createPostgresViewed(database: PostgresDatabase): ViewedStore {
  return {
    async viewedFiles(sessionId, personId) {
      const rows = await database.read<{ path: string; blob: string }>(
        'SELECT path, blob FROM viewed WHERE session = $1 AND person = $2 ORDER BY number',
        [safeText(sessionId), safeText(personId)],
      )
      return rows.map(({ path, blob }) => ({ path: original(path), blob }))
    },
    async markViewed(sessionId, personId, files, most) {
      const whose = [safeText(sessionId), safeText(personId)]
      const latest = new Map(files.map(({ path, blob }) => [safeText(path), blob]))
      const viewed = [...latest].flatMap(([path, blob]) => (blob === null ? [] : [{ path, blob }]))
      await database.transaction(
        // Locks the row of the session: a deletion of the session, and other changes of marks in it, run before or
        // after this transaction.
        ['SELECT 1 FROM sessions WHERE id = $1 FOR NO KEY UPDATE', [whose[0]!]],
        [
          'DELETE FROM viewed WHERE session = $1 AND person = $2 AND path = ANY($3::text[])',
          [...whose, [...latest.keys()]],
        ],
        [
          `INSERT INTO viewed (session, person, path, blob)
           SELECT $1, $2, t.path, t.blob FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS t(path, blob, n)
           WHERE EXISTS (SELECT 1 FROM sessions WHERE id = $1) ORDER BY t.n`,
          [...whose, viewed.map(({ path }) => path), viewed.map(({ blob }) => blob)],
        ],
        [`DELETE FROM viewed WHERE number IN (${tooOld('$1', '$2', '$3')})`, [...whose, most]],
      )
    },
  }
}
