import { promptFor } from './lib/claude-model.ts'
import { startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, milliseconds } from './lib/figure.ts'
import { percentile } from './lib/stats.ts'

const rate = 200
const aims = { 50: 0.3, 99: 2 } as const

/**
 * The added latency of a delta of the real Claude Code for a reader of the host, compared with a reader of the SDK's
 * own iterator.
 */
export const claudeLatency: Figure = {
  name: 'claude-latency',
  async measure({ quick, folder }) {
    await using sides = await startClaudeSides(folder)
    const { parley, raw } = sides
    const prompt = promptFor({ do: 'stamp', rate, count: rate })
    const ours: number[] = []
    const plain: number[] = []
    await parley.call('open')
    await raw.call('open')
    for (let round = 0; round < (quick ? 3 : 13); round++) {
      const our = (await parley.call('turn', prompt)).ages
      const their = (await raw.call('turn', prompt)).ages
      if (our.length !== rate || their.length !== rate) {
        throw new Error(`${our.length} and ${their.length} of ${rate} deltas came.`)
      }
      if (round === 0) continue
      ours.push(...our)
      plain.push(...their)
    }
    return ([50, 99] as const).map((percent) => {
      const of = percentile(ours, percent) / 1000
      const bare = percentile(plain, percent) / 1000
      return {
        figure: `claude: added latency at ${rate}/s, p${percent}`,
        value: `${of < bare ? '' : '+'}${milliseconds(of - bare)}`,
        baseline: milliseconds(bare),
        ratio: of / bare,
        aim: `<= ${aims[percent]} ms`,
        met: of - bare <= aims[percent],
        data: { ours: of, bare, added: of - bare },
      }
    })
  },
}
