import { join } from 'node:path'
import { type Figure, LostError, milliseconds, perSecond } from './lib/figure.ts'
import { seed } from './lib/seed.ts'
import { startServers } from './lib/servers.ts'
import { compare } from './lib/stats.ts'

/** The time to send a whole log to one new client, compared with bare `ws` that sends the same frames from memory. */
export const replay: Figure = {
  name: 'replay',
  async measure({ quick, folder }) {
    const count = 100_000
    const rounds = quick ? 3 : 7
    const session = 'ses_replayed'
    await seed(folder, [{ id: session, events: count }], folder)
    await using servers = await startServers(folder)
    const { parley, bare, readers } = servers
    const file = join(folder, 'frames.txt')
    const bytes = count * 512

    const ours = async (save?: string) => {
      await readers.call('open', { name: 'ours', address: parley.socket, count: 1 })
      const go = JSON.stringify({ type: 'follow', session })
      const result = await readers.call('replay', { name: 'ours', go, bytes, ...(save && { save }) })
      if (result.events !== count || !result.inOrder)
        throw new LostError(`A replay of ${count} events gave ${result.events}, in order: ${result.inOrder}.`)
      return result
    }
    const plain = async () => {
      await readers.call('open', { name: 'bare', address: bare.address, count: 1 })
      const result = await readers.call('replay', { name: 'bare', go: 'go', bytes })
      await readers.call('close', 'bare')
      return result
    }

    const cold = await ours(file)
    await bare.call('prepare', { do: 'send', file })
    await plain()
    const rates: { ours: number; bare: number }[] = []
    const firsts: { ours: number; bare: number }[] = []
    for (let round = 0; round < rounds; round++) {
      const mine = await ours()
      const theirs = await plain()
      rates.push({ ours: count / mine.seconds, bare: count / theirs.seconds })
      firsts.push({ ours: mine.firstMs, bare: theirs.firstMs })
    }
    const rate = compare(rates)
    const first = compare(firsts)
    return [
      {
        figure: 'replay of 100,000 events',
        value: perSecond(rate.ours),
        baseline: perSecond(rate.bare),
        ratio: rate.ratio,
        aim: '> 100,000/s',
        met: rate.ours > 100_000,
        data: { ...rate, cold: count / cold.seconds },
      },
      {
        figure: 'time to its first event',
        value: milliseconds(first.ours),
        baseline: milliseconds(first.bare),
        ratio: first.ours / first.bare,
        data: { ...first, cold: cold.firstMs },
      },
    ]
  },
}
