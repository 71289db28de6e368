import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { startProcess } from './lib/processes.ts'
import type { SealsCalls } from './lib/seals-process.ts'
import { compare, inTurns, median } from './lib/stats.ts'

const sizes = [
  { size: 600, aim: 1.1 },
  { size: 2048, aim: 1.2 },
] as const
const bytesAim = 1.04
const verifyAimMs = 150

/** Appends to a log with seals and without, the bytes that seals add, and the time to verify 10,000 events. */
export const seals: Figure = {
  name: 'seals',
  async measure({ quick, folder }) {
    const process = startProcess<SealsCalls>('./seals-process.ts', { folder })
    try {
      const events = quick ? 2_000 : 10_000
      const rows: Row[] = []
      for (const { size, aim } of sizes) {
        const bytes = { ours: 0, bare: 0 }
        const run = async (isSealed: boolean) => {
          const result = await process.call('append', { events, size, isSealed })
          bytes[isSealed ? 'ours' : 'bare'] = result.bytes
          return result.us
        }
        await run(true)
        const result = compare(
          await inTurns(
            quick ? 3 : 9,
            () => run(true),
            () => run(false),
          ),
        )
        rows.push({
          figure: `append with seals, events of ${size} bytes`,
          value: `${result.ours.toFixed(1)} µs`,
          baseline: `${result.bare.toFixed(1)} µs`,
          ratio: result.ratio,
          aim: `at most ${aim.toFixed(2)}`,
          met: result.ratio <= aim,
          data: result,
        })
        const ratio = bytes.ours / bytes.bare
        rows.push({
          figure: `bytes stored with seals, events of ${size} bytes`,
          value: `${bytes.ours.toLocaleString('en')} B`,
          baseline: `${bytes.bare.toLocaleString('en')} B`,
          ratio,
          aim: `at most ${bytesAim}`,
          met: ratio <= bytesAim,
          data: bytes,
        })
      }
      rows.push(await verifyRow(process.call, quick ? 3 : 9))
      return rows
    } finally {
      await process.stop()
    }
  },
}

type Call = ReturnType<typeof startProcess<SealsCalls>>['call']

async function verifyRow(call: Call, rounds: number): Promise<Row> {
  const times: { ms: number; parseMs: number }[] = []
  for (let round = 0; round < rounds; round++) times.push(await call('verify', { events: 10_000, size: 600 }))
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
