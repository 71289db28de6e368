import type { AppendsCalls } from './lib/appends-process.ts'
import { type Figure, perSecond } from './lib/figure.ts'
import { startProcess } from './lib/processes.ts'
import { compare, inTurns } from './lib/stats.ts'

/**
 * Small durable events per second, from an agent's output to the store, compared with bare `node:sqlite` with one
 * event per transaction.
 */
export const appends: Figure = {
  name: 'appends',
  async measure({ quick, folder }) {
    const process = startProcess<AppendsCalls>('./appends-process.ts', { folder })
    try {
      const count = quick ? 5_000 : 20_000
      await process.call('ours', count)
      await process.call('bare', count)
      const result = compare(
        await inTurns(
          quick ? 3 : 5,
          async () => count / (await process.call('ours', count)),
          async () => count / (await process.call('bare', count)),
        ),
      )
      return [
        {
          figure: 'durable appends',
          value: perSecond(result.ours),
          baseline: perSecond(result.bare),
          ratio: result.ratio,
          data: result,
        },
      ]
    } finally {
      await process.stop()
    }
  },
}
