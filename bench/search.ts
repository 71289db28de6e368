import { setTimeout as pause } from 'node:timers/promises'
import { type Figure, milliseconds, perSecond, type Row } from './lib/figure.ts'
import { type Remote, startProcess } from './lib/processes.ts'
import { type Corpus, wordOf } from './lib/search-corpus.ts'
import type { SearchCalls } from './lib/search-process.ts'
import { median, percentile } from './lib/stats.ts'

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

/** Search in all sessions, compared with a scan of the stored events. */
export const search: Figure = {
  name: 'search',
  async measure({ quick, folder }) {
    const corpus: Corpus = { sessions: quick ? 100 : 1_000, eventsEach }
    const events = corpus.sessions * corpus.eventsEach
    const process = startProcess<SearchCalls>('./search-process.ts', { folder, corpus })
    try {
      const { ms, bytes, indexBytes } = await whenIndexed(process)
      const scanned = { sessions: 20, word: wordOf(20_000) }
      const scan = await process.call('scan', scanned)
      const scanMs = (scan.ms / scanned.sessions) * corpus.sessions
      const rows: Row[] = []
      for (const [name, queryOf] of Object.entries(queries)) {
        const rounds = Array.from({ length: quick ? 10 : 40 }, (_, round) => queryOf(round))
        const times = await process.call('search', rounds)
        const p50 = median(times)
        rows.push({
          figure: `search ${events.toLocaleString('en')} events for ${name}, p50`,
          value: milliseconds(p50),
          baseline: milliseconds(scanMs),
          ratio: p50 / scanMs,
          aim: `under ${searchAimMs} ms`,
          met: p50 < searchAimMs,
          data: { p50, p95: percentile(times, 95), scanMs },
        })
      }
      const found: number[] = []
      for (let round = 0; round < (quick ? 3 : 9); round++)
        found.push(await process.call('foundAfter', round))
      return [
        ...rows,
        {
          figure: 'a prompt is found after, longest',
          value: milliseconds(Math.max(...found)),
          aim: `under ${foundAimMs} ms`,
          met: Math.max(...found) < foundAimMs,
          data: { longest: Math.max(...found), p50: median(found) },
        },
        {
          figure: 'size of the search index (baseline: the sessions)',
          value: `${(indexBytes / 2 ** 20).toFixed(0)} MiB`,
          baseline: `${(bytes / 2 ** 20).toFixed(0)} MiB`,
          ratio: indexBytes / bytes,
          aim: `under ${sizeAim}`,
          met: indexBytes / bytes < sizeAim,
          data: { indexBytes, bytes },
        },
        { figure: 'events indexed', value: perSecond(events / (ms / 1_000)), data: { ms, events } },
      ]
    } finally {
      await process.stop()
    }
  },
}

async function whenIndexed(process: Remote<SearchCalls>) {
  for (;;) {
    const indexed = await process.call('indexed')
    if (indexed) return indexed
    await pause(500)
  }
}
