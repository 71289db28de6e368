import type { SearchKind } from '@parley/protocol'
import type { IndexHit, IndexPage, IndexQuery } from '../../core/search-index.ts'
import { isWord } from '../sqlite-search-file.ts'
import type { PostgresDatabase } from './database.ts'
import { insideCondition, limitConditions } from './limits.ts'
import { decodeEntries, decodeNumbers, type NumberedEntry, numbersOfWord } from './search-encoding.ts'
import { original, safeText } from './session-columns.ts'

/** The kinds by their numbers in the database. */
export const kinds: readonly SearchKind[] = ['prompt', 'answer', 'call', 'output']

/** If there are more candidates than this, they are looked up by the range of their numbers. */
const listedAtMost = 1_000
const growth = 8

type Found = { readonly number: number; readonly hit: IndexHit }

/** The entries that contain all words and pass the filters. The entries that were added last come first. */
export async function findEntries(database: PostgresDatabase, query: IndexQuery): Promise<IndexPage> {
  const { limit, words } = query
  if (!words.every(isWord)) return { hits: [] }
  const { numbers, newest } = await candidatesOf(database, query)
  const found: Found[] = []
  for (let count = limit + 1; found.length <= limit; count *= growth) {
    const batch = taken(numbers, count)
    if (batch.length === 0) break
    const older = await olderEntries(database, query, batch)
    const entries = batch.flatMap((number) => newest.get(number) ?? older.get(number) ?? [])
    found.push(...(await hitsOf(database, query, entries)))
  }
  const last = found[limit - 1]
  return {
    hits: found.slice(0, limit).map(({ hit }) => hit),
    ...(found.length > limit && last && { cursor: String(last.number) }),
  }
}

/** A row of words of a segment, or one of the newest entries. `place` counts the words of the query from one. */
type WordRow = { place: number; segment: number; first: number; last: number; body: Buffer }
type Row = WordRow | (NumberedEntry & { body: null })

/** One statement, because a merge may move entries between two statements. */
const candidateStatement = `
  SELECT a.place::integer, coalesce(s.target, s.id) AS segment, s.first, s.last, w.body,
    NULL::bigint AS number, NULL::bigint AS session, NULL::integer AS seq, NULL::smallint AS kind
  FROM search_segments s CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS a (word, place) CROSS JOIN LATERAL
    (SELECT body FROM search_words WHERE segment = s.id AND word <= decode(a.word, 'hex')
     ORDER BY word DESC LIMIT 1) AS w
  WHERE s.first < $2
  UNION ALL
  SELECT cardinality($1::text[]), coalesce(s.target, s.id), s.first, s.last, w.body, NULL, NULL, NULL, NULL
  FROM search_segments s JOIN search_words w ON w.segment = s.id
    AND w.word > decode($3::text, 'hex') AND w.word < decode($3::text || 'ff', 'hex')
  WHERE s.first < $2
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, number, session_key, seq, kind
  FROM search_entries WHERE words @@ $4::tsquery AND number < $2`

/** The numbers of the entries that contain all words, from the newest on, and those of the entries without a segment. */
async function candidatesOf(database: PostgresDatabase, { words, isLastPrefix, cursor }: IndexQuery) {
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor)
  const bytes = words.map((word) => Buffer.from(word))
  const hex = bytes.map((word) => word.toString('hex'))
  const isPrefix = (place: number) => isLastPrefix && place === words.length
  const text = words.map((word, index) => `'${word}'${isPrefix(index + 1) ? ':*' : ''}`).join(' & ')
  const prefix = isLastPrefix ? (hex.at(-1) ?? null) : null
  const rows = await database.read<Row>(candidateStatement, [hex, before, prefix, text])
  const newest = new Map<number, NumberedEntry>()
  const segments = new Map<number, WordRow[]>()
  for (const row of rows) {
    if (row.body === null) newest.set(row.number, row)
    else segments.set(row.segment, [...(segments.get(row.segment) ?? []), row])
  }
  const lists = [...segments.values()].map((rows) => {
    const numbersIn = ({ place, body }: WordRow) =>
      numbersOfWord(body, bytes[place - 1] ?? Buffer.alloc(0), isPrefix(place))
    return matchesIn(rows, { words: words.length, before, numbersIn })
  })
  const sorted = [...newest.keys()].sort((a, b) => b - a)
  return { newest, numbers: newestFirst([sorted.values(), ...lists]) }
}

type Wanted = {
  readonly words: number
  readonly before: number
  numbersIn(row: WordRow): readonly Buffer[]
}

/** The numbers in the rows of one segment that are in a list of each word, from the newest on. */
function* matchesIn(rows: readonly WordRow[], { words, before, numbersIn }: Wanted): Generator<number> {
  const first = Math.min(...rows.map((row) => row.first))
  const last = Math.max(...rows.map((row) => row.last))
  // The number of words, in the order of the query, that an entry contains.
  const counts = new Uint16Array(last - first + 1)
  for (const row of rows.toSorted((a, b) => a.place - b.place)) {
    const numbers: number[] = []
    for (const list of numbersIn(row)) decodeNumbers(list, numbers)
    for (const number of numbers) {
      if (counts[number - first] === row.place - 1) counts[number - first] = row.place
    }
  }
  for (let end = Math.min(before, last + 1) - first; end > 0; ) {
    end = counts.lastIndexOf(words, end - 1)
    if (end >= 0) yield first + end
  }
}

/** Merges lists that are in falling order. */
function* newestFirst(lists: readonly Iterator<number, unknown>[]): Generator<number> {
  const heads = lists.map((list) => ({ list, next: list.next() }))
  for (;;) {
    let newest: (typeof heads)[number] | undefined
    for (const head of heads)
      if (!head.next.done && (newest === undefined || head.next.value > Number(newest.next.value)))
        newest = head
    if (!newest || newest.next.done) return
    yield newest.next.value
    newest.next = newest.list.next()
  }
}

function taken(numbers: Iterator<number>, count: number): number[] {
  const batch: number[] = []
  while (batch.length < count) {
    const next = numbers.next()
    if (next.done) break
    batch.push(next.value)
  }
  return batch
}

/** The entries with these numbers, in falling order, that are in segments. */
async function olderEntries(
  database: PostgresDatabase,
  query: IndexQuery,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, NumberedEntry>> {
  const where = conditionsOf(query, 3)
  const inSessions =
    where.sql && ` AND sessions && ARRAY (SELECT key FROM search_cursors s WHERE true${where.sql})`
  const rows = await database.read<{ body: Buffer }>(
    `SELECT body FROM search_numbers WHERE last >= $1 AND first <= $2
       AND ($3::bigint[] IS NULL OR EXISTS (SELECT FROM unnest($3::bigint[]) AS n WHERE n BETWEEN first AND last))
       ${inSessions}`,
    [numbers.at(-1) ?? 0, numbers[0] ?? 0, numbers.length > listedAtMost ? null : numbers, ...where.values],
  )
  const wanted = new Set(numbers)
  const entries = rows.flatMap(({ body }) => decodeEntries(body))
  return new Map(entries.filter(({ number }) => wanted.has(number)).map((entry) => [entry.number, entry]))
}

async function hitsOf(
  database: PostgresDatabase,
  query: IndexQuery,
  entries: readonly NumberedEntry[],
): Promise<Found[]> {
  if (entries.length === 0) return []
  const where = conditionsOf(query, 1)
  const rows = await database.read<{ key: number; session: string }>(
    `SELECT key, session FROM search_cursors s WHERE key = ANY ($1::bigint[])${where.sql}`,
    [[...new Set(entries.map(({ session }) => session))], ...where.values],
  )
  const sessions = new Map(rows.map(({ key, session }) => [key, original(session)]))
  return entries.flatMap(({ number, session: key, seq, kind: index }) => {
    const session = sessions.get(key)
    const kind = kinds[index] ?? 'output'
    if (session === undefined || (query.kinds && !query.kinds.includes(kind))) return []
    return [{ number, hit: { session, seq, kind } }]
  })
}

const columns = {
  ...{ id: 's.session', agent: 's.agent', folder: 's.folder' },
  place: '(SELECT o.place FROM sessions o WHERE o.id = s.session)',
}

/** The conditions of a session. Their parameters follow `before` other parameters. */
function conditionsOf({ agent, session, folder, within }: IndexQuery, before: number) {
  const values: string[] = []
  const conditions: string[] = []
  const parameter = (value: string) => `$${values.push(value) + before}`
  if (agent !== undefined) conditions.push(`s.agent = ${parameter(safeText(agent))}`)
  if (session !== undefined) conditions.push(`s.session = ${parameter(safeText(session))}`)
  if (folder !== undefined) conditions.push(insideCondition('s.folder', parameter(safeText(folder))))
  if (within) conditions.push(...limitConditions(within, columns, parameter))
  return { sql: conditions.map((one) => ` AND ${one}`).join(''), values }
}
