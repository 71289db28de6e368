import type { SearchKind } from '@parley/protocol'
import type { IndexHit, IndexPage, IndexQuery, SearchIndex } from '../../core/search-index.ts'
import { isWord } from '../sqlite-search-file.ts'
import type { PostgresDatabase } from './database.ts'
import { insideCondition, limitConditions } from './limits.ts'
import { original, safeText } from './session-columns.ts'

const kinds: readonly SearchKind[] = ['prompt', 'answer', 'call', 'output']

/** Search in the tables of the database. Every node can search everything; the owner of a session indexes it. */
export function createPostgresSearch(database: PostgresDatabase): SearchIndex {
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
      return rows.length > 0
    },
    async remove(sessionId) {
      await database.query(
        `WITH c AS (DELETE FROM search_cursors WHERE session = $1 RETURNING key)
         DELETE FROM search_entries USING c WHERE session_key = c.key`,
        [safeText(sessionId)],
      )
    },
    find: (query) => find(database, query),
    close: async () => undefined,
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

type Row = { number: number; session: string; seq: number; kind: number }

/** Above this number of matches, the entries are read from the newest on until enough of them match. */
const manyMatches = 5_000

async function find(database: PostgresDatabase, query: IndexQuery): Promise<IndexPage> {
  const { limit, cursor } = query
  if (!query.words.every(isWord)) return { hits: [] }
  const words = queryText(query)
  const where = conditionsOf(query)
  const [counted] = await database.read<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (
       SELECT 1 FROM search_entries e WHERE e.words @@ $1::tsquery LIMIT ${manyMatches + 1}) AS matches`,
    [words],
  )
  // With `IS TRUE`, the planner cannot use the index of the words, and reads the entries in the order of their numbers.
  const isCommon = (counted?.count ?? 0) > manyMatches
  const matches = isCommon ? '(e.words @@ $1::tsquery) IS TRUE' : 'e.words @@ $1::tsquery'
  const rows = await database.read<Row>(
    `SELECT e.number, s.session, e.seq, e.kind FROM search_entries e JOIN search_cursors s ON s.key = e.session_key
     WHERE ${matches} AND e.number < $2${where.sql} ORDER BY e.number DESC LIMIT $3`,
    [words, cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor), limit + 1, ...where.values],
  )
  const last = rows[limit - 1]
  return {
    hits: rows.slice(0, limit).map(hitOf),
    ...(rows.length > limit && last && { cursor: String(last.number) }),
  }
}

function hitOf({ session, seq, kind }: Row): IndexHit {
  return { session: original(session), seq, kind: kinds[kind] ?? 'output' }
}

function queryText({ words, isLastPrefix }: IndexQuery): string {
  return words
    .map((word, index) => `'${word}'${isLastPrefix && index === words.length - 1 ? ':*' : ''}`)
    .join(' & ')
}

const columns = {
  ...{ id: 's.session', agent: 's.agent', folder: 's.folder' },
  place: '(SELECT o.place FROM sessions o WHERE o.id = s.session)',
}

function conditionsOf({ kinds: wanted, agent, session, folder, within }: IndexQuery) {
  const values: (string | readonly number[])[] = []
  const conditions: string[] = []
  const parameter = (value: string | readonly number[]) => `$${values.push(value) + 3}`
  const add = (value: string | readonly number[], condition: (parameter: string) => string) =>
    conditions.push(condition(parameter(value)))
  if (wanted)
    add(
      wanted.map((kind) => kinds.indexOf(kind)),
      (parameter) => `e.kind = ANY (${parameter}::smallint[])`,
    )
  if (agent !== undefined) add(safeText(agent), (parameter) => `s.agent = ${parameter}`)
  if (session !== undefined) add(safeText(session), (parameter) => `s.session = ${parameter}`)
  if (folder !== undefined) add(safeText(folder), (parameter) => insideCondition('s.folder', parameter))
  if (within) conditions.push(...limitConditions(within, columns, parameter))
  return { sql: conditions.map((one) => ` AND ${one}`).join(''), values }
}
