import { piece, promptFor } from './lib/claude-model.ts'
import type { Received } from './lib/claude-side.ts'
import { type ClaudeCalls, startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, LostError, perSecond, type Row } from './lib/figure.ts'
import type { Remote } from './lib/processes.ts'
import { compare, type Pair } from './lib/stats.ts'

/**
 * Deltas per second and processor time per delta with the real Claude Code, which sends as fast as it can. Compares a
 * reader of the host with a reader of the SDK's own iterator.
 */
export const claudeFlood: Figure = {
  name: 'claude-flood',
  async measure({ quick, folder }) {
    await using sides = await startClaudeSides(folder)
    const deltas = quick ? 10_000 : 50_000
    const rates: Pair[] = []
    const costs: Pair[] = []
    for (let round = 0; round < (quick ? 3 : 7); round++) {
      const order = round % 2 === 0 ? (['parley', 'raw'] as const) : (['raw', 'parley'] as const)
      const of: Partial<Record<'parley' | 'raw', Flood>> = {}
      for (const side of order) of[side] = await flood(sides[side], deltas)
      rates.push({ ours: of.parley!.rate, bare: of.raw!.rate })
      costs.push({ ours: of.parley!.microseconds, bare: of.raw!.microseconds })
    }
    return [rateRow(deltas, rates), costRow(costs)]
  },
}

type Flood = { readonly rate: number; readonly microseconds: number }

/** Opens a session, warms it up, then runs the flood. */
async function flood(side: Remote<ClaudeCalls>, deltas: number): Promise<Flood> {
  await side.call('open')
  await side.call('turn', promptFor({ do: 'stream', deltas: 3 }))
  const before = await side.call('processorMicroseconds')
  const received = await side.call('turn', promptFor({ do: 'stream', deltas }))
  const after = await side.call('processorMicroseconds')
  await side.call('close')
  checkWhole(received, deltas)
  return { rate: deltas / (received.streamMs / 1000), microseconds: (after - before) / deltas }
}

function checkWhole({ deltas, length }: Received, expected: number): void {
  if (deltas === expected && length === expected * piece.length) return
  throw new LostError(`${deltas} of ${expected} deltas arrived, with ${length} characters.`)
}

function rateRow(deltas: number, rates: readonly Pair[]): Row {
  const { ours, bare, ratio } = compare(rates)
  return {
    figure: `claude: a flood of ${deltas.toLocaleString('en')} deltas`,
    value: perSecond(ours),
    baseline: perSecond(bare),
    ratio,
    aim: 'ratio >= 0.9',
    met: ratio >= 0.9,
    data: { ours, bare, ratio },
  }
}

function costRow(costs: readonly Pair[]): Row {
  const { ours, bare, ratio } = compare(costs)
  return {
    figure: 'claude: processor time per delta, SDK included',
    value: `${ours.toFixed(1)} µs`,
    baseline: `${bare.toFixed(1)} µs`,
    ratio,
    data: { ours, bare, ratio },
  }
}
