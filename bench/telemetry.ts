import { join } from 'node:path'
import type { Task } from './lib/bench-agent.ts'
import type { Figure, Row } from './lib/figure.ts'
import { startProcess } from './lib/processes.ts'
import { compare, inTurns } from './lib/stats.ts'
import type { Reporting, TelemetryCalls } from './lib/telemetry-process.ts'

/** The processor time of one durable event with telemetry, compared with the same host without it. */
export const telemetry: Figure = {
  name: 'telemetry',
  async measure({ quick, folder }) {
    await using undo = new AsyncDisposableStack()
    const start = (reporting: Reporting) => {
      const process = startProcess<TelemetryCalls>('./telemetry-process.ts', {
        folder: join(folder, reporting),
        reporting,
      })
      undo.defer(() => process.stop())
      return process
    }
    const bare = start('nothing')
    const count = quick ? 1_000 : 3_000
    const task: Task = { do: 'calls', count }
    await bare.call('play', task)
    const rows: Row[] = []
    for (const [reporting, figure] of reported) {
      const ours = start(reporting)
      await ours.call('play', task)
      const rounds = quick ? 3 : 9
      const result = compare(
        await inTurns(
          rounds,
          () => ours.call('play', task),
          () => bare.call('play', task),
        ),
      )
      const { ratio } = result
      const aim = reporting === 'usual' ? { aim: 'ratio <= 1.1', met: ratio <= 1.1 } : {}
      const value = `${result.ours.toFixed(1)} us`
      rows.push({ figure, value, baseline: `${result.bare.toFixed(1)} us`, ratio, ...aim, data: result })
    }
    return rows
  },
}

const reported: readonly (readonly [Reporting, string])[] = [
  ['usual', 'an event, telemetry on, nobody listens'],
  ['channel', 'an event, a subscriber of the channel'],
  ['sdk', 'an event of a tool call, an OpenTelemetry SDK'],
]
