import { hasCode } from '@parley/protocol'
import type { SearchIndex } from '../../core/search-index.ts'
import type { PostgresDatabase } from './database.ts'
import { findEntries, kinds } from './search-query.ts'
import { SearchSegments, type SegmentSizes } from './search-segments.ts'
import { original, safeText } from './session-columns.ts'

export type PostgresSearch = SearchIndex & {
  /** Resolves when the index is compact, or another process is working on it. */
  settled(): Promise<void>
}

/** Search in the tables of the database. Every node can search everything; the owner of a session indexes it. */
export function createPostgresSearch(
  database: PostgresDatabase,
  sizes: Partial<SegmentSizes> = {},
): PostgresSearch {
  const segments = new SearchSegments(database, sizes)
  let failure: unknown
  const work = () =>
    void segments.work().catch((thrown) => {
      // A later step tries again.
      if (!hasCode(thrown, 'busy')) failure = thrown
    })
  /** Lets the caller report why the index does not become compact. */
  const throwFailure = () => {
    const thrown = failure
    failure = undefined
    if (thrown !== undefined) throw thrown
  }
  work()
  return {
    async cursor(sessionId) {
      const [row] = await database.read<{ epoch: string; seq: number }>(
        'SELECT epoch, seq FROM search_cursors WHERE session = $1',
        [safeText(sessionId)],
      )
      return row
    },
    async cursors() {
      const rows = await database.read<{ session: string; epoch: string; seq: number }>(
        'SELECT session, epoch, seq FROM search_cursors',
      )
      return new Map(rows.map(({ session, epoch, seq }) => [original(session), { epoch, seq }]))
    },
    async add({ session, agent, folder, from, to, entries }) {
      throwFailure()
      const rows = await database.query(addStatement, [
        safeText(session),
        safeText(agent),
        safeText(folder),
        to.epoch,
        to.seq,
        from?.epoch ?? null,
        from?.seq ?? null,
        entries.map(({ seq }) => seq),
        entries.map(({ kind }) => kinds.indexOf(kind)),
        entries.map(({ words }) => words),
      ])
      work()
      await segments.stepped()
      return rows.length > 0
    },
    async remove(sessionId) {
      await database.query(
        `WITH c AS (DELETE FROM search_cursors WHERE session = $1 RETURNING key)
         DELETE FROM search_entries USING c WHERE session_key = c.key`,
        [safeText(sessionId)],
      )
      work()
    },
    find: (query) => findEntries(database, query),
    settled: () => segments.work(),
    close: () => segments.close(),
  }
}

/**
 * Adds nothing if the log has another epoch by now: it was rewritten, and its old text must not be found. Waits for a
 * statement that is rewriting the log.
 */
const addStatement = `WITH moved AS (
    INSERT INTO search_cursors (session, agent, folder, epoch, seq)
    SELECT id, $2, $3, $4, $5 FROM sessions
    WHERE id = $1 AND epoch = $4 AND ($6::text IS NULL OR EXISTS (SELECT FROM search_cursors WHERE session = $1))
    FOR SHARE
    ON CONFLICT (session) DO UPDATE SET agent = excluded.agent, folder = excluded.folder, epoch = excluded.epoch,
      seq = excluded.seq WHERE search_cursors.epoch = $6::text AND search_cursors.seq = $7::bigint
    RETURNING key),
  added AS (
    INSERT INTO search_entries (session_key, seq, kind, words)
    SELECT m.key, t.seq, t.kind, array_to_tsvector(string_to_array(t.words, ' '))
    FROM moved m, unnest($8::integer[], $9::smallint[], $10::text[]) WITH ORDINALITY AS t (seq, kind, words, place)
    ORDER BY t.place)
  SELECT key FROM moved`
