import { setTimeout as pause } from 'node:timers/promises'
import { PostgresServer } from '../packages/server/src/stores/postgres/postgres-under-test.ts'
import { type Figure, milliseconds, perSecond, type Row } from './lib/figure.ts'
import { type Remote, startProcess } from './lib/processes.ts'
import { type Corpus, wordOf } from './lib/search-corpus.ts'
import type { SearchCalls } from './lib/search-process.ts'
import { compare, inTurns, median, percentile } from './lib/stats.ts'

const searchAimMs = 20
const foundAimMs = 2_000
const sizeAim = 0.25
const eventsEach = 400

/** The words of each kind of query. A prefix is the beginning of a word. */
const queries = {
  'a rare word': (round: number) => wordOf(20_000 + round * 37),
  'two words': (round: number) => `${wordOf(400 + round * 7)} ${wordOf(900 + round * 3)}`,
  'a prefix': (round: number) => wordOf(9_000 + round * 31).slice(0, -1),
  'the most common word': () => `${wordOf(0)} `,
} satisfies Record<string, (round: number) => string>

type Medium = { readonly name: string; readonly url?: string }

/** Search in all sessions, compared with a scan of the same log (`LIKE`) and with a host that has no index. */
export const search: Figure = {
  name: 'search',
  async measure({ quick, folder }) {
    const rows = await measureOn({ name: 'SQLite' }, quick, `${folder}/sqlite`)
    await using postgres = await PostgresServer.open({
      settings: ['fsync=on', 'shared_buffers=256MB'],
      files: {},
    })
    const url = await postgres.database()
    return [...rows, ...(await measureOn({ name: 'PostgreSQL', url }, quick, `${folder}/postgres`))]
  },
}

async function measureOn({ name, url }: Medium, quick: boolean, folder: string): Promise<Row[]> {
  const corpus: Corpus = { sessions: quick ? 100 : 1_000, eventsEach }
  const input = { folder, corpus, scanned: wordOf(20_000), ...(url !== undefined && { url }) }
  const process = startProcess<SearchCalls>('./search-process.ts', input)
  try {
    const { ms, scanMs, bytes, indexBytes } = await whenIndexed(process)
    const events = corpus.sessions * corpus.eventsEach
    return [
      ...(await searchRows(process, { name, events, scanMs, rounds: quick ? 10 : 40 })),
      await foundRow(process, name, quick ? 3 : 9),
      {
        figure: `${name}: size of the search index (baseline: the sessions)`,
        value: `${(indexBytes / 2 ** 20).toFixed(0)} MiB`,
        baseline: `${(bytes / 2 ** 20).toFixed(0)} MiB`,
        ratio: indexBytes / bytes,
        aim: `under ${sizeAim}`,
        met: indexBytes / bytes < sizeAim,
        data: { indexBytes, bytes },
      },
      { figure: `${name}: events indexed`, value: perSecond(events / (ms / 1_000)), data: { ms, events } },
      // The host without an index uses SQLite.
      ...(url === undefined ? [await appendRow(process, quick)] : []),
    ]
  } finally {
    await process.stop()
  }
}

type Searches = { name: string; events: number; scanMs: number; rounds: number }

async function searchRows(process: Remote<SearchCalls>, { name, events, scanMs, rounds }: Searches) {
  const rows: Row[] = []
  for (const [kind, queryOf] of Object.entries(queries)) {
    const asked = Array.from({ length: rounds }, (_, round) => queryOf(round))
    const times = await process.call('search', asked)
    const p50 = median(times)
    rows.push({
      figure: `${name}: search ${events.toLocaleString('en')} events for ${kind}, p50 (baseline: LIKE)`,
      value: milliseconds(p50),
      baseline: milliseconds(scanMs),
      ratio: p50 / scanMs,
      aim: `under ${searchAimMs} ms`,
      met: p50 < searchAimMs,
      data: { p50, p95: percentile(times, 95), scanMs },
    })
  }
  return rows
}

async function foundRow(process: Remote<SearchCalls>, name: string, rounds: number): Promise<Row> {
  const found: number[] = []
  for (let round = 0; round < rounds; round++) found.push(await process.call('foundAfter', round))
  const longest = Math.max(...found)
  return {
    figure: `${name}: a prompt is found after, longest`,
    value: milliseconds(longest),
    aim: `under ${foundAimMs} ms`,
    met: longest < foundAimMs,
    data: { longest, p50: median(found) },
  }
}

/** The number of events that a host with an index records, compared with a host without one. */
async function appendRow(process: Remote<SearchCalls>, quick: boolean): Promise<Row> {
  const count = quick ? 2_000 : 10_000
  const rate = async (isIndexed: boolean) =>
    (2 * count) / (await process.call('append', { count, isIndexed }))
  await rate(true)
  await rate(false)
  const result = compare(
    await inTurns(
      quick ? 3 : 7,
      () => rate(true),
      () => rate(false),
    ),
  )
  return {
    figure: 'SQLite: durable appends with an index (baseline: without)',
    value: perSecond(result.ours),
    baseline: perSecond(result.bare),
    ratio: result.ratio,
    data: result,
  }
}

async function whenIndexed(process: Remote<SearchCalls>) {
  for (;;) {
    const indexed = await process.call('indexed')
    if (indexed) return indexed
    await pause(500)
  }
}
