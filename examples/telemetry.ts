import { subscribe } from 'node:diagnostics_channel'
import {
  builtInAdapters,
  channelNames,
  createHost,
  createMemoryStore,
  createTelemetry,
  type EventMessage,
} from '@parley/server'

/** Observes a host: its events on a Node channel, its metrics as text. node examples/telemetry.ts [agent] [prompt] */
const [agent = 'demo', prompt = 'usage'] = process.argv.slice(2)

const ended = Promise.withResolvers<void>()
subscribe(channelNames.event, (message) => {
  const { event, agent: id } = message as EventMessage
  if (event.type !== 'turn.ended') return
  console.log(`${id}: ${event.outcome}, ${event.usage?.output ?? 0} tokens out, $${event.costUsd ?? 0}`)
  ended.resolve()
})

const telemetry = createTelemetry()
const host = await createHost({
  adapters: builtInAdapters({ env: process.env }),
  store: createMemoryStore(),
  telemetry,
})
await host.create({ agent, cwd: process.cwd(), mode: 'read-only', prompt })
await ended.promise

const text = telemetry.metrics({ version: 'example', clients: {}, waiting: {} })
console.log(
  text
    .split('\n')
    .filter((line) => /^parley_(turns|tokens|cost)/.test(line))
    .join('\n'),
)
await host.close()
