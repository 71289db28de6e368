import type { Figure, Row } from './lib/figure.ts'
import type { FoldCalls, FoldCase } from './lib/fold-process.ts'
import { startProcess } from './lib/processes.ts'

const cases: readonly FoldCase[] = [
  { what: 'text', characters: 1_000, calls: 0 },
  { what: 'text', characters: 100_000, calls: 0 },
  { what: 'text', characters: 1_000, calls: 200 },
  { what: 'text', characters: 100_000, calls: 200 },
  { what: 'text', characters: 100_000, calls: 200, open: true },
  { what: 'tool input', characters: 1_000, calls: 200 },
  { what: 'tool input', characters: 100_000, calls: 200 },
]

/** The cost of folding one delta, compared with appending to a string in a map. */
export const fold: Figure = {
  name: 'fold',
  async measure({ quick }) {
    const process = startProcess<FoldCalls>('./fold-process.ts')
    try {
      const results = await process.call('measure', { cases, rounds: quick ? 60 : 300 })
      return cases.map((one, index): Row => {
        const { ours, bare } = results[index]!
        const isFlat = ours < 2 * results[0]!.ours
        return {
          figure: `fold, ${nameOf(one)}`,
          value: `${ours.toFixed(2)} us`,
          baseline: `${bare.toFixed(2)} us`,
          ratio: ours / bare,
          aim: '< 10 us, flat',
          met: ours < 10 && isFlat,
          data: { ours, bare },
        }
      })
    } finally {
      await process.stop()
    }
  },
}

function nameOf({ what, characters, calls, open }: FoldCase): string {
  return `${what}, ${characters.toLocaleString('en')} characters, ${calls} ${open ? 'open' : 'ended'} calls`
}
