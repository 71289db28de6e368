import { tmpdir } from 'node:os'
import { createHost, createMemoryStore } from '@parley/server'
import { createCalculatorAdapter } from './calculator.ts'

/** A host with a custom agent, defined in calculator.ts. node examples/custom-adapter.ts */
const host = await createHost({ adapters: [createCalculatorAdapter()], store: createMemoryStore() })
const { id } = await host.create({ agent: 'calculator', cwd: tmpdir(), prompt: 'How much is 42 / 6?' })
for await (const event of host.events(id)) {
  if (event.type === 'permission.requested') {
    const { requestId } = event
    await host.command(id, { type: 'permission.decide', commandId: 'yes', requestId, decision: 'allow' })
  }
  if (event.type === 'text.written') console.log(event.text)
  if (event.type === 'turn.ended') break
}
await host.close()
