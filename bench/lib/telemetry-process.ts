import { subscribe } from 'node:diagnostics_channel'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { NoopSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { createCoreHost } from '../../packages/server/src/core/index.ts'
import { createHost } from '../../packages/server/src/index.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { systemClock, systemIds } from '../../packages/server/src/system-clock.ts'
import { createTemporaryFolders } from '../../packages/server/src/tools/temporary-folders.ts'
import { createBenchAgent, type Task } from './bench-agent.ts'
import { answer, given } from './processes.ts'
import { promptCommand } from './servers.ts'

/**
 * A host on SQLite with one kind of telemetry: none; the default without subscribers; a subscriber of the channel; or
 * an OpenTelemetry SDK that discards its spans.
 */
export type Reporting = 'nothing' | 'usual' | 'channel' | 'sdk'

const { folder, reporting } = given<{ folder: string; reporting: Reporting }>()
mkdirSync(folder, { recursive: true })
let received = 0
if (reporting === 'channel') subscribe('parley:event', () => void received++)
if (reporting === 'sdk') {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new NoopSpanProcessor()] }))
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
}
const store = openSqliteStore({ file: join(folder, 'parley.sqlite') })
const options = {
  adapters: [createBenchAgent()],
  store,
  checkFolder: async (cwd: string) => cwd,
  temporaryFolders: createTemporaryFolders(),
  freeBytes: () => process.availableMemory(),
  clock: systemClock,
  ids: systemIds,
}
const host = await (reporting === 'nothing' ? createCoreHost(options) : createHost(options))

const calls = {
  /**
   * Returns the processor time per event, in microseconds, of a turn with this task. Other load on the machine hardly
   * affects processor time.
   */
  async play(task: Task) {
    const { id } = await host.create({ agent: 'bench', cwd: folder })
    const ended = Promise.withResolvers<void>()
    const stop = await host.follow(
      id,
      {},
      {
        following: () => undefined,
        caughtUp: () => undefined,
        ended: () => undefined,
        deliver(batch) {
          const isEnd = batch.some(
            (item) => item.kind === 'event' && item.json.includes('"type":"turn.ended"'),
          )
          if (isEnd) ended.resolve()
        },
      },
    )
    const before = received
    const start = process.cpuUsage()
    await host.command(id, promptCommand(task) as never)
    await ended.promise
    const { user, system } = process.cpuUsage(start)
    stop()
    const { head } = await host.read(id, { limit: 1 })
    if (reporting === 'channel' && received - before < head - 2)
      throw new Error(`${received - before} of ${head} events were received.`)
    return (user + system) / head
  },
}
export type TelemetryCalls = typeof calls

answer(calls, async () => {
  await host.close()
  await store.close()
})
