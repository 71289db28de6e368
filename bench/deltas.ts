import { join } from 'node:path'
import { type Figure, perSecond } from './lib/figure.ts'
import { promptFrame, startServers } from './lib/servers.ts'
import { compare, inTurns } from './lib/stats.ts'

/**
 * Deltas per second through the whole server to one WebSocket client, compared with a bare `ws` loop that sends the
 * same frames.
 */
export const deltas: Figure = {
  name: 'deltas',
  async measure({ quick, folder }) {
    await using servers = await startServers(folder)
    const { parley, bare, readers } = servers
    const count = quick ? 40_000 : 100_000
    const blocks = count / 250
    const rounds = quick ? 3 : 5
    const file = join(folder, 'frames.txt')
    await readers.call('open', { name: 'bare', address: bare.address, count: 1 })

    const bytes = count * 256
    const measureBare = async () => {
      const { seconds } = await readers.call('turn', { name: 'bare', go: 'go', bytes, deltas: count })
      return count / seconds
    }
    const against = async (agent: 'scripted' | 'bench') => {
      const session = await parley.createSession(agent, folder)
      await readers.call('open', { name: agent, address: parley.socket, count: 1, session })
      const turn = (deltas: number, save?: string) => {
        const go =
          agent === 'scripted'
            ? promptFrame(session, [{ type: 'flood', deltas, size: 6, blocks: Math.ceil(deltas / 250) }])
            : promptFrame(session, { do: 'stream', deltas, blocks: Math.ceil(deltas / 250) })
        return readers.call('turn', { name: agent, go, bytes, deltas, ...(save && { save }) })
      }
      await turn(count / 4)
      await turn(count, file)
      await bare.call('prepare', { do: 'send', file })
      await measureBare()
      return compare(await inTurns(rounds, async () => count / (await turn(count)).seconds, measureBare))
    }

    const scripted = await against('scripted')
    const lean = await against('bench')
    return [
      {
        figure: `deltas, whole server, one client (${blocks} blocks)`,
        value: perSecond(scripted.ours),
        baseline: perSecond(scripted.bare),
        ratio: scripted.ratio,
        aim: 'ratio >= 0.5',
        met: scripted.ratio >= 0.5,
        data: scripted,
      },
      {
        figure: 'the same, from the bench agent',
        value: perSecond(lean.ours),
        baseline: perSecond(lean.bare),
        ratio: lean.ratio,
        data: lean,
      },
    ]
  },
}
