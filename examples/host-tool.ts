import { createHost, createMemoryStore, defineTool } from '@parley/server'
import { createScriptedAdapter } from '@parley/server/testing'
import { z } from 'zod'

/**
 * A host tool: a tool of this program that agents can call. The agent here plays a script, so that the example needs no
 * account. With builtInAdapters({ env: process.env }) in place of that agent and "claude" below, the model decides when
 * to call the tool.
 */
const tickets = new Map([['7', 'The door sticks.']])

const readTicket = defineTool({
  name: 'read_ticket',
  description: 'Gives the text of a ticket. Use it before you answer questions about one.',
  input: z.object({ id: z.string().describe('The number of the ticket') }),
  annotations: { title: 'Read a ticket', readOnly: true, safe: true },
  run({ id }) {
    const text = tickets.get(id)
    if (text === undefined) throw new Error(`there is no ticket ${id}`)
    return text
  },
})

const scripted = createScriptedAdapter({
  script: () => [
    { type: 'host-tool', name: 'read_ticket', input: { id: '7' } },
    { type: 'host-tool', name: 'read_ticket', input: { id: '8' } },
  ],
})

const host = await createHost({ adapters: [scripted], store: createMemoryStore(), tools: [readTicket] })
const { id } = await host.create({ agent: 'scripted', cwd: process.cwd(), prompt: 'What is ticket 7 about?' })

for await (const event of host.events(id)) {
  if (event.type === 'tool-call.called') console.log(`called: ${event.name}`)
  if (event.type === 'tool-call.ended') console.log(`${event.outcome}: ${JSON.stringify(event.content)}`)
  if (event.type === 'turn.ended') break
}

await host.close()
