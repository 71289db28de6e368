import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { promptFrame, type Servers, startServers } from './lib/servers.ts'
import { percentile } from './lib/stats.ts'

const aims = { p50: 0.3, p99: 2 }

/** The added latency of a delta at a steady rate, compared with a bare `ws` loop. */
export const latency: Figure = {
  name: 'latency',
  async measure({ quick, folder }) {
    await using servers = await startServers(folder)
    const rows: Row[] = []
    for (const rate of [200, 1_000]) {
      rows.push(...(await measureRate(servers, { rate, folder, rounds: quick ? 2 : 14, seconds: 1 })))
    }
    return rows
  },
}

async function measureRate(
  { parley, bare, readers }: Servers,
  { rate, folder, rounds, seconds }: { rate: number; folder: string; rounds: number; seconds: number },
): Promise<Row[]> {
  const session = await parley.createSession('bench', folder)
  await readers.call('open', { name: 'ours', address: parley.socket, count: 1, session })
  await readers.call('open', { name: 'bare', address: bare.address, count: 1 })
  const count = rate * seconds
  const askOurs = (deltas: number) =>
    readers.call('ages', { name: 'ours', go: promptFrame(session, { do: 'stamp', count: deltas, rate }) })

  const { sample, last } = await askOurs(count)
  const [before = '', after = ''] = sample?.split(/\d{16}/) ?? []
  await bare.call('prepare', { do: 'stamp', before, after, last: last ?? '', count, rate })
  await readers.call('ages', { name: 'bare', go: 'go' })

  const ours: number[] = []
  const plain: number[] = []
  for (let round = 0; round < rounds; round++) {
    ours.push(...(await askOurs(count)).ages)
    plain.push(...(await readers.call('ages', { name: 'bare', go: 'go' })).ages)
  }
  if (ours.length !== plain.length)
    throw new Error(`${ours.length} deltas came from Parley, ${plain.length} from the bare server.`)
  return ([50, 99] as const).map((percent) => {
    const aim = percent === 50 ? aims.p50 : aims.p99
    const of = percentile(ours, percent) / 1000
    const bareMs = percentile(plain, percent) / 1000
    return {
      figure: `added latency at ${rate.toLocaleString('en')}/s, p${percent}`,
      value: `${of < bareMs ? '' : '+'}${milliseconds(of - bareMs)}`,
      baseline: milliseconds(bareMs),
      ratio: of / bareMs,
      aim: `<= ${aim} ms`,
      met: of - bareMs <= aim,
      data: { ours: of, bare: bareMs, added: of - bareMs },
    }
  })
}
