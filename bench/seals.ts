import { join } from 'node:path'
import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { type Remote, startProcess } from './lib/processes.ts'
import type { SealsCalls } from './lib/seals-process.ts'
import { compare, inTurns, median, type Pair, percentile } from './lib/stats.ts'

const sizes = [
  { size: 600, aim: 1.1 },
  { size: 2048, aim: 1.2 },
] as const
const bytesAim = 1.04
const verifyAimMs = 150

type Side = Remote<SealsCalls>

/**
 * The cost of seals for appends and for stored bytes, and the time to verify 10,000 events. One process appends events
 * with seals, and another appends the same events without seals, in short alternating rounds.
 */
export const seals: Figure = {
  name: 'seals',
  async measure({ quick, folder }) {
    const sealed = startProcess<SealsCalls>('./seals-process.ts', { folder: join(folder, 'sealed') })
    const bare = startProcess<SealsCalls>('./seals-process.ts', { folder: join(folder, 'bare') })
    try {
      const rows: Row[] = []
      for (const { size, aim } of sizes) rows.push(...(await appendRows(sealed, bare, { size, aim, quick })))
      rows.push(await verifyRow(sealed, quick ? 3 : 9))
      return rows
    } finally {
      await Promise.all([sealed.stop(), bare.stop()])
    }
  },
}

async function appendRows(
  sealed: Side,
  bare: Side,
  { size, aim, quick }: { size: number; aim: number; quick: boolean },
): Promise<Row[]> {
  await Promise.all([sealed.call('open', { isSealed: true }), bare.call('open', { isSealed: false })])
  const turns = 10
  const warmUp = { turns: quick ? 20 : 100, size }
  await sealed.call('append', warmUp)
  await bare.call('append', warmUp)
  const cpu: { ours: number[]; bare: number[] } = { ours: [], bare: [] }
  const run = async (of: 'ours' | 'bare') => {
    const { us, cpuUs } = await (of === 'ours' ? sealed : bare).call('append', { turns, size })
    cpu[of].push(cpuUs)
    return us
  }
  const latency = await inTurns(
    quick ? 20 : 100,
    () => run('ours'),
    () => run('bare'),
  )
  const processor = cpu.ours.map((ours, round): Pair => ({ ours, bare: cpu.bare[round]! }))
  const bytes = { ours: await sealed.call('close'), bare: await bare.call('close') }
  const ratio = bytes.ours / bytes.bare
  return [
    appendRow(`append with seals, events of ${size} bytes`, latency, aim),
    appendRow(`processor time of it, ${size} bytes`, processor, aim),
    {
      figure: `bytes stored with seals, events of ${size} bytes`,
      value: `${bytes.ours.toLocaleString('en')} B`,
      baseline: `${bytes.bare.toLocaleString('en')} B`,
      ratio,
      aim: `at most ${bytesAim}`,
      met: ratio <= bytesAim,
      data: bytes,
    },
  ]
}

/** The row includes the quartiles of the ratio, which show how much the machine disturbed the rounds. */
function appendRow(figure: string, pairs: readonly Pair[], aim: number): Row {
  const result = compare(pairs)
  const ratios = pairs.map(({ ours, bare }) => ours / bare)
  const [low, high] = [percentile(ratios, 25), percentile(ratios, 75)]
  return {
    figure: `${figure} (quartiles ${low.toFixed(2)} to ${high.toFixed(2)})`,
    value: `${result.ours.toFixed(1)} µs`,
    baseline: `${result.bare.toFixed(1)} µs`,
    ratio: result.ratio,
    aim: `at most ${aim.toFixed(2)}`,
    met: result.ratio <= aim,
    data: { ...result, low, high },
  }
}

async function verifyRow(side: Side, rounds: number): Promise<Row> {
  const times: { ms: number; parseMs: number }[] = []
  for (let round = 0; round < rounds; round++) {
    times.push(await side.call('verify', { events: 10_000, size: 600 }))
  }
  const ms = median(times.map((one) => one.ms))
  const parseMs = median(times.map((one) => one.parseMs))
  return {
    figure: 'verify 10,000 events (baseline: parse them)',
    value: milliseconds(ms),
    baseline: milliseconds(parseMs),
    ratio: ms / parseMs,
    aim: `under ${verifyAimMs} ms`,
    met: ms < verifyAimMs,
    data: { ms, parseMs },
  }
}
