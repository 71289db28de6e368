import { setTimeout as pause, setImmediate as yieldToIo } from 'node:timers/promises'
import { ParleyError } from '@parley/protocol'
import type { PostgresDatabase } from './database.ts'
import {
  areInOrder,
  bytesOfWord,
  decodeEntries,
  decodeNumbers,
  encodeEntries,
  type NumberedEntry,
  type WordRow,
  WordRows,
  wordsIn,
} from './search-encoding.ts'
import {
  beginStatement,
  forgetStatement,
  gatherStatement,
  mergeStatement,
  wordStatement,
} from './search-statements.ts'

export type SegmentSizes = {
  /** The number of new entries that are moved into a segment. */
  readonly gather: number
  /** The number of segments of a tier that are merged into one of the next tier. */
  readonly merge: number
  /** The size of a row of words. */
  readonly rowBytes: number
  /** The rows of each segment that one step merges. */
  readonly rowsAtOnce: number
}

const usualSizes: SegmentSizes = { gather: 512, merge: 8, rowBytes: 8_192, rowsAtOnce: 4 }
const gatheredAtOnce = 512
/** Segments of this tier are not merged: the numbers of a common word would be too long for one row. */
const lastTier = 4
const forgottenAtOnce = 100
/** The number of words that are encoded before other work of this process can run. */
const wordsAtOnce = 250
/** A step is followed by a pause of the same length, up to this one, so that it leaves time for other work. */
const longestPauseMs = 100
/** The bytes of removed rows after which their space is reclaimed. */
const reclaimedBytes = 4 * 2 ** 20

type Segment = {
  readonly id: number
  readonly tier: number
  readonly first: number
  readonly last: number
  /** The segment that this one is being merged into. */
  readonly target: number | null
  /** Entries that were removed from the index, but whose numbers are still in this segment. */
  readonly dead: readonly number[] | null
}

/** The state of the index from which a step starts. The step changes nothing if the version has changed since. */
type State = {
  readonly version: number
  /** The number of new entries; larger numbers are not counted. */
  readonly recent: number
  readonly hasRemoved: boolean
  readonly segments: readonly Segment[]
}

type StoredRow = { readonly segment: number; readonly word: Buffer; readonly body: Buffer }

/** The words of one segment that are being merged. `head` is the next word, which was already taken from `words`. */
type Source = {
  readonly segment: number
  readonly words: Iterator<[word: string, numbers: Buffer], void> & Iterable<[word: string, numbers: Buffer]>
  head: [word: string, numbers: Buffer] | undefined
}

/**
 * Keeps the index compact. New entries are gathered into a segment, segments of equal size are merged into a larger
 * one, and segments with words of removed entries are written again without them. This happens in steps. Each step
 * makes its change in one statement, and a process can stop after any step: at every moment, each number of an entry is
 * stored once for each of its words.
 */
export class SearchSegments {
  readonly #database: PostgresDatabase
  readonly #sizes: SegmentSizes
  #working: Promise<void> | undefined
  #stepping: Promise<boolean> | undefined
  #isAsked = false
  #isClosed = false
  #removedBytes = 0

  constructor(database: PostgresDatabase, sizes: Partial<SegmentSizes> = {}) {
    this.#database = database
    this.#sizes = { ...usualSizes, ...sizes }
  }

  /** Works until nothing is left to do, or another process has made a step meanwhile. Rejects if a step fails. */
  work(): Promise<void> {
    this.#isAsked = true
    this.#working ??= this.#steps().finally(() => {
      this.#working = undefined
    })
    return this.#working
  }

  /** Resolves when the step that is being made has ended. Whoever adds entries waits for it, so that steps keep pace. */
  async stepped(): Promise<void> {
    await this.#stepping?.catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#working?.catch(() => undefined)
  }

  async #steps(): Promise<void> {
    // Changes that were made during the last step are examined once more.
    for (let hasMore = true; !this.#isClosed && (hasMore || this.#isAsked); ) {
      this.#isAsked = false
      const start = performance.now()
      this.#stepping = this.#step()
      hasMore = await this.#stepping.finally(() => {
        this.#stepping = undefined
      })
      if (this.#removedBytes >= reclaimedBytes) await this.#reclaim()
      if (hasMore) await pause(Math.min(performance.now() - start, longestPauseMs))
    }
  }

  /** Makes the next step. Returns false if there was nothing to do, or another process was faster. */
  async #step(): Promise<boolean> {
    const state = await this.#read()
    const { version, segments } = state
    if (state.hasRemoved) return forget(this.#database, version)
    if (state.recent >= this.#sizes.gather) return this.#gather(version)
    const target = segments.find(({ id }) => segments.some((segment) => segment.target === id))
    if (target) return this.#merge(state, target.id)
    const group = this.#groupOf(segments)
    return group !== undefined && beginMerge(this.#database, version, group)
  }

  async #read(): Promise<State> {
    const [found] = await this.#database.read<Omit<State, 'segments'> & { segments: string }>(
      `SELECT version, EXISTS (SELECT FROM search_removed) AS "hasRemoved",
         (SELECT count(*)::integer FROM (SELECT FROM search_entries LIMIT $1) AS e) AS recent,
         (SELECT coalesce(json_agg(s ORDER BY first), '[]') FROM search_segments s)::text AS segments
       FROM search_version`,
      [this.#sizes.gather],
    )
    if (!found) throw new ParleyError('internal_error', 'The table search_version has no row.')
    return { ...found, segments: JSON.parse(found.segments) as Segment[] }
  }

  /** The segments that should be merged into a new one. */
  #groupOf(segments: readonly Segment[]): readonly Segment[] | undefined {
    const withDead = segments.find(({ dead }) => dead !== null)
    if (withDead) return [withDead]
    for (let tier = 0; tier < lastTier; tier++) {
      const equal = segments.filter((segment) => segment.tier === tier)
      if (equal.length >= this.#sizes.merge) return equal.slice(0, this.#sizes.merge)
    }
    return undefined
  }

  /** Moves new entries into a segment. */
  async #gather(version: number): Promise<boolean> {
    // The session was removed while the entry was added.
    await this.#database.query(
      'DELETE FROM search_entries e WHERE NOT EXISTS (SELECT FROM search_cursors s WHERE s.key = e.session_key)',
    )
    const entries = await this.#database.read<NumberedEntry>(
      `SELECT number, session_key AS session, seq, kind FROM search_entries ORDER BY number LIMIT $1`,
      [gatheredAtOnce],
    )
    const numbers = entries.map(({ number }) => number)
    const [words] = await this.#database.read<{ lines: string | null }>(wordStatement, [numbers])
    const lines = words?.lines ? words.lines.split('\n') : []
    const rows = new WordRows(this.#sizes.rowBytes)
    for (const [index, line] of lines.entries()) {
      const [word = '', ...numbers] = line.split(' ')
      rows.add(bytesOfWord(word), numbers.map(Number))
      if (index % wordsAtOnce === 0) await yieldToIo()
    }
    const gathered = await this.#database.query(gatherStatement, [
      version,
      numbers,
      sessionsOf(entries),
      encodeEntries(entries).toString('hex'),
      ...rowValues(rows.ended()),
    ])
    this.#removedBytes += words?.lines?.length ?? 0
    return gathered.length > 0
  }

  /** Merges the first rows of the segments, up to a word. The last step removes the segments. */
  async #merge({ version, segments }: State, target: number): Promise<boolean> {
    const { rowsAtOnce, rowBytes } = this.#sizes
    const rows = await this.#database.read<StoredRow>(
      `SELECT w.segment, w.word, w.body FROM search_segments s CROSS JOIN LATERAL
         (SELECT * FROM search_words WHERE segment = s.id ORDER BY word LIMIT $2) AS w
       WHERE s.target = $1 ORDER BY s.first, w.word`,
      [target, rowsAtOnce + 1],
    )
    const bound = boundOf(rows, rowsAtOnce)
    const sources = sourcesOf(rows, bound)
    const dead = new Set(segments.filter((one) => one.target === target).flatMap((one) => one.dead ?? []))
    const merged = new WordRows(rowBytes)
    let count = 0
    for (let word = leastWord(sources); isBefore(word, bound); word = leastWord(sources)) {
      addNumbers(merged, word, { lists: takenLists(sources, word), dead })
      if (++count % wordsAtOnce === 0) await yieldToIo()
    }
    const added = merged.ended().map((row) => ({ ...row, segment: target }))
    for (const { segment, head, words } of sources) {
      const rest = new WordRows(rowBytes)
      if (head) rest.addEncoded(head[0], [head[1]])
      for (const [word, numbers] of words) rest.addEncoded(word, [numbers])
      added.push(...rest.ended().map((row) => ({ ...row, segment })))
    }
    const stored = await this.#database.query(mergeStatement, [
      version,
      target,
      bound === undefined ? null : hexOf(bound),
      added.map(({ segment }) => segment),
      ...rowValues(added),
    ])
    this.#removedBytes += rows.reduce((bytes, { body }) => bytes + body.length, 0)
    if (dead.size > 0 && bound === undefined) this.#removedBytes = reclaimedBytes
    return stored.length > 0
  }

  /** Makes the space of removed rows usable again. Autovacuum would do it later, after the tables have grown. */
  async #reclaim(): Promise<void> {
    this.#removedBytes = 0
    await this.#database.query('VACUUM (SKIP_LOCKED) search_words, search_entries').catch(() => undefined)
  }
}

async function forget(database: PostgresDatabase, version: number): Promise<boolean> {
  const removed = await database.read<{ session: number }>(
    'SELECT DISTINCT session_key AS session FROM search_removed LIMIT $1',
    [forgottenAtOnce],
  )
  const sessions = removed.map(({ session }) => session)
  const isRemoved = new Set(sessions)
  const rows = await database.read<{ first: number; body: Buffer }>(
    'SELECT first, body FROM search_numbers WHERE sessions && $1::bigint[]',
    [sessions],
  )
  const dead: number[] = []
  const left = rows.map(({ body }) => {
    const entries = decodeEntries(body)
    for (const { session, number } of entries) if (isRemoved.has(session)) dead.push(number)
    return entries.filter(({ session }) => !isRemoved.has(session))
  })
  const forgotten = await database.query(forgetStatement, [
    version,
    sessions,
    dead,
    rows.map(({ first }) => first),
    left.map((entries) => `{${sessionsOf(entries).join(',')}}`),
    left.map((entries) => encodeEntries(entries).toString('hex')),
  ])
  return forgotten.length > 0
}

async function beginMerge(
  database: PostgresDatabase,
  version: number,
  group: readonly Segment[],
): Promise<boolean> {
  const begun = await database.query(beginStatement, [
    version,
    group.map(({ id }) => id),
    Math.max(...group.map(({ tier }) => tier)) + (group.length > 1 ? 1 : 0),
    Math.min(...group.map(({ first }) => first)),
    Math.max(...group.map(({ last }) => last)),
  ])
  return begun.length > 0
}

function sessionsOf(entries: readonly NumberedEntry[]): number[] {
  return [...new Set(entries.map(({ session }) => session))]
}

function rowValues(rows: readonly WordRow[]) {
  return [rows.map(({ word }) => hexOf(word)), rows.map(({ body }) => body.toString('hex'))] as const
}

function hexOf(word: string): string {
  return Buffer.from(word, 'latin1').toString('hex')
}

/**
 * The word up to which all rows were read; undefined if there are no more rows. Of each segment, one row more was read
 * than is merged.
 */
function boundOf(rows: readonly StoredRow[], rowsAtOnce: number): string | undefined {
  const counts = new Map<number, number>()
  let bound: string | undefined
  for (const { segment, word } of rows) {
    const count = (counts.get(segment) ?? 0) + 1
    counts.set(segment, count)
    const text = word.toString('latin1')
    if (count > rowsAtOnce && isBefore(text, bound)) bound = text
  }
  return bound
}

/** The segments of the rows that begin before the bound. */
function sourcesOf(rows: readonly StoredRow[], bound: string | undefined): Source[] {
  const read = rows.filter(({ word }) => isBefore(word.toString('latin1'), bound))
  return [...new Set(read.map(({ segment }) => segment))].map((segment) => {
    const words = wordsOf(read.filter((row) => row.segment === segment))
    return { segment, words, head: words.next().value ?? undefined }
  })
}

function* wordsOf(rows: readonly StoredRow[]): Generator<[word: string, numbers: Buffer], void> {
  for (const { body } of rows) yield* wordsIn(body)
}

function isBefore(word: string | undefined, bound: string | undefined): word is string {
  return word !== undefined && (bound === undefined || word < bound)
}

function leastWord(sources: readonly Source[]): string | undefined {
  let least: string | undefined
  for (const { head } of sources) if (head && isBefore(head[0], least)) least = head[0]
  return least
}

/** Takes the numbers of this word from all sources. */
function takenLists(sources: readonly Source[], word: string): Buffer[] {
  const lists: Buffer[] = []
  for (const source of sources) {
    if (source.head?.[0] !== word) continue
    lists.push(source.head[1])
    source.head = source.words.next().value ?? undefined
  }
  return lists
}

/** Adds a word with the numbers of several lists, without the numbers of removed entries. */
function addNumbers(
  rows: WordRows,
  word: string,
  { lists, dead }: { lists: readonly Buffer[]; dead: ReadonlySet<number> },
): void {
  if (dead.size === 0 && areInOrder(lists)) return rows.addEncoded(word, lists)
  const all: number[] = []
  for (const list of lists) decodeNumbers(list, all)
  const numbers = all.filter((number) => !dead.has(number)).sort((a, b) => a - b)
  if (numbers.length > 0) rows.add(word, numbers)
}
