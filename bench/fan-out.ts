import { join } from 'node:path'
import { type Figure, perSecond, type Row } from './lib/figure.ts'
import { promptFrame, type Servers, startServers } from './lib/servers.ts'
import { compare, inTurns } from './lib/stats.ts'

type Case = { readonly followers: number; readonly deltas: number; readonly each?: 'tick' }

/** Deliveries per second to many followers of one session, compared with bare `ws` that serialises once. */
export const fanOut: Figure = {
  name: 'fan-out',
  async measure({ quick, folder }) {
    await using servers = await startServers(folder)
    const cases: Case[] = [
      { followers: 1, deltas: 40_000 },
      { followers: 100, deltas: 1_000 },
      { followers: 1_000, deltas: 120 },
      { followers: 100, deltas: 600, each: 'tick' },
      { followers: 1_000, deltas: 60, each: 'tick' },
    ]
    const rows: Row[] = []
    for (const one of cases) rows.push(await measureCase(servers, one, { folder, rounds: quick ? 3 : 9 }))
    return rows
  },
}

async function measureCase(
  { parley, bare, readers }: Servers,
  { followers, deltas, each }: Case,
  { folder, rounds }: { folder: string; rounds: number },
): Promise<Row> {
  const file = join(folder, 'frames.txt')
  const session = await parley.createSession('bench', folder)
  await readers.call('open', { name: 'ours', address: parley.socket, count: followers, session })
  await readers.call('open', { name: 'bare', address: bare.address, count: followers })
  const tick = each && { each }
  const bytes = deltas * 256
  const turn = (save?: string) => {
    const go = promptFrame(session, { do: 'stream', deltas, blocks: Math.ceil(deltas / 250), ...tick })
    return readers.call('turn', { name: 'ours', go, bytes, deltas, ...(save && { save }) })
  }
  const deliveries = deltas * followers
  await turn()
  await turn(file)
  await bare.call('prepare', { do: 'send', file, ...tick })
  const bareTurn = () => readers.call('turn', { name: 'bare', go: 'go', bytes, deltas })
  await bareTurn()
  const pairs = await inTurns(
    rounds,
    async () => deliveries / (await turn()).seconds,
    async () => deliveries / (await bareTurn()).seconds,
  )
  await readers.call('close', 'ours')
  await readers.call('close', 'bare')
  const { ours, bare: plain, ratio } = compare(pairs)
  return {
    figure: `fan-out to ${followers.toLocaleString('en')}${each ? ', one delta at a time' : ''}`,
    value: perSecond(ours),
    baseline: perSecond(plain),
    ratio,
    aim: 'ratio >= 0.9',
    met: ratio >= 0.9,
    data: { ours, bare: plain, ratio },
  }
}
