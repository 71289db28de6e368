import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { built, type Program, source, startProgram } from './lib/program.ts'
import { compare, inTurns } from './lib/stats.ts'

/** The time from the start of the process until the server is healthy, compared with an idle Node process. */
export const start: Figure = {
  name: 'start',
  async measure({ quick, folder }) {
    const rows: Row[] = []
    for (const program of [source, built()]) rows.push(await measureStart(program, folder, quick ? 3 : 9))
    return rows
  },
}

async function measureStart(program: Program, folder: string, rounds: number): Promise<Row> {
  const dataDir = join(folder, program.name)
  const ours = async () => {
    const { healthyMs, stop } = await startProgram(program, dataDir)
    await stop()
    return healthyMs
  }
  const first = await ours()
  await idleNode()
  const result = compare(await inTurns(rounds, ours, idleNode))
  return {
    figure: `start to healthy, ${program.name}`,
    value: milliseconds(result.ours),
    baseline: milliseconds(result.bare),
    ratio: result.ratio,
    aim: 'ratio < 10',
    met: result.ratio < 10,
    data: { ...result, first },
  }
}

async function idleNode(): Promise<number> {
  const begin = performance.now()
  await once(spawn(process.execPath, ['-e', '0']), 'exit')
  return performance.now() - begin
}
