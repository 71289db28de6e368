import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isKnown, type SessionEvent } from '@parley/protocol'
import { builtInAdapters, createHost, openSqliteStore } from '@parley/server'

/**
 * Prints what an agent writes as it arrives. The session is stored: the next run of this program continues it.
 * node examples/stream-to-terminal.ts [database] [agent] [prompt]
 */
const kept = join(tmpdir(), 'parley-example.sqlite')
const [file = kept, agent = 'demo', prompt = 'think about it'] = process.argv.slice(2)

const store = openSqliteStore({ file })
const host = await createHost({ adapters: builtInAdapters({ env: process.env }), store })

const { sessions } = await host.list({ agent, limit: 1 })
const id = sessions[0]?.id ?? (await host.create({ agent, cwd: process.cwd(), mode: 'read-only' })).id
const { seq } = await host.state(id)
await host.command(id, { type: 'prompt.submit', commandId: crypto.randomUUID(), text: prompt })

for await (const item of host.feed(id, { after: seq })) {
  if (item.type === 'delta' && item.delta.type === 'text.streamed') process.stdout.write(item.delta.text)
  if (item.type === 'event' && isKnown(item.event)) tell(item.event)
  if (item.type === 'event' && item.event.type === 'turn.ended') break
}

await host.close()
await store.close()

function tell(event: SessionEvent) {
  if (event.type === 'text.written') process.stdout.write('\n')
  if (event.type === 'tool-call.called') console.log(`\n> ${event.title}`)
  if (event.type === 'tool-call.ended') console.log(`  ${event.outcome}`)
  if (event.type === 'turn.ended') console.log(`\n(turn of ${event.durationMs} ms: ${event.outcome})`)
}
