import type { SessionEvent } from '@parley/protocol'
import { createMemoryStore } from '../packages/server/src/stores/memory.ts'
import { handOff as write } from '../packages/server/src/transcripts/hand-off/index.ts'
import { type Figure, milliseconds } from './lib/figure.ts'
import { fill } from './lib/search-corpus.ts'
import { compare, inTurns } from './lib/stats.ts'

const options = {
  reason: 'hand-off',
  agentName: () => 'Agent',
  budget: 96_000,
  takesImages: true,
} as const

/** The time to write a hand-off of a session of 10,000 events, compared with parsing its events. */
export const handOff: Figure = {
  name: 'hand-off',
  async measure({ quick }) {
    const eventsEach = quick ? 1_000 : 10_000
    const store = createMemoryStore()
    await fill(store, { sessions: 1, eventsEach })
    const { sessions } = await store.list({ limit: 1 })
    const lines = await store.read(sessions[0]!.id, { limit: eventsEach + 8 })
    const parse = () => lines.map(({ json }) => JSON.parse(json) as SessionEvent)
    const events = parse()
    const ours = async () => timed(() => write(events, options).text.length)
    const bare = async () => timed(() => parse().length)
    const pairs = await inTurns(quick ? 6 : 30, ours, bare)
    const result = compare(pairs.slice(2))
    return [
      {
        figure: `hand-off of ${lines.length.toLocaleString('en')} events, without parsing them`,
        value: milliseconds(result.ours),
        baseline: milliseconds(result.bare),
        ratio: result.ratio,
        aim: '< 100 ms',
        met: result.ours < 100,
        data: { ours: result.ours, bare: result.bare },
      },
    ]
  },
}

function timed(work: () => number): number {
  const start = performance.now()
  if (work() === 0) throw new Error('Nothing was written.')
  return performance.now() - start
}
