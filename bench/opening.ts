import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { seed } from './lib/seed.ts'
import { type ParleyServer, startParleyServer } from './lib/servers.ts'
import { compare, type Pair } from './lib/stats.ts'

const large = { id: 'ses_large', events: 100_000 }
const small = { id: 'ses_small', events: 100 }
const unloadMs = 20

/**
 * The time to read the last 50 blocks of a long session, compared with the same read of a short session. It must
 * depend on the size of the tail, not on the length of the log.
 */
export const opening: Figure = {
  name: 'opening',
  async measure({ quick, folder }) {
    await seed(folder, [large, small], folder)
    const requests = quick ? 200 : 600
    const warm = await startParleyServer(folder)
    const inMemory = await measureOpening(warm, requests)
    await warm.remote.stop()
    const forgetful = await startParleyServer(folder, { limits: { unloadMs } })
    const fromStore = await measureOpening(forgetful, requests / 10, unloadMs * 3)
    await forgetful.remote.stop()
    return [
      row('the last 50 blocks of 100,000 events, against 100 events', inMemory),
      row('the same, not in memory', fromStore),
    ]
  },
}

/**
 * Opens the two sessions alternately; a pause of `restMs` between two openings lets the server remove both
 * from memory.
 */
async function measureOpening(parley: ParleyServer, requests: number, restMs = 0) {
  const open = async (id: string) => {
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
    const start = performance.now()
    const { blocks } = await parley.request<{ blocks: unknown[] }>('GET', `/api/sessions/${id}?tail=50`)
    const ms = performance.now() - start
    if (blocks.length !== 50) throw new Error(`${id} has ${blocks.length} blocks.`)
    return ms
  }
  for (let index = 0; index < requests / 4; index++) await Promise.all([open(large.id), open(small.id)])
  const pairs: Pair[] = []
  for (let index = 0; index < requests; index++) {
    pairs.push({ ours: await open(large.id), bare: await open(small.id) })
  }
  return compare(pairs)
}

function row(figure: string, result: ReturnType<typeof compare>): Row {
  return {
    figure,
    value: milliseconds(result.ours),
    baseline: milliseconds(result.bare),
    ratio: result.ratio,
    aim: 'ratio < 2',
    met: result.ratio < 2,
    data: result,
  }
}
