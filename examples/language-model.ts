import { createHost, createMemoryStore } from '@parley/server'
import { createParley } from '@parley/server/language-model'
import { createScriptedAdapter } from '@parley/server/testing'
import { generateText, type ModelMessage, stepCountIs, tool } from 'ai6'
import { z } from 'zod'

/**
 * An agent as a language model of the AI SDK ("ai" in your program), with a tool of this program. The agent here
 * plays a script, so that the example needs no account. For a real agent, use builtInAdapters({ env: process.env })
 * and "claude".
 */
const scripted = createScriptedAdapter({
  script: (prompt) =>
    prompt.includes('ticket')
      ? [{ type: 'host-tool', name: 'read_ticket', input: { id: '7' }, unasked: true }]
      : [{ type: 'text', text: 'Oil the hinges.' }],
})
const host = await createHost({ adapters: [scripted], store: createMemoryStore() })
const parley = createParley({ host, cwd: process.cwd(), mode: 'read-only' })

const tools = {
  read_ticket: tool({
    description: 'Gives the text of a ticket.',
    inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }) => (id === '7' ? 'The door sticks.' : `There is no ticket ${id}.`),
  }),
}

const messages: ModelMessage[] = [{ role: 'user', content: 'What is ticket 7 about?' }]
const stopWhen = stepCountIs(5)
const first = await generateText({ model: parley('scripted'), messages, tools, stopWhen })
console.log(first.text)

messages.push(...first.response.messages, { role: 'user', content: 'What needs to be done?' })
const second = await generateText({ model: parley('scripted'), messages, tools, stopWhen })
console.log(second.text)

const { sessions } = await host.list({ limit: 10 })
console.log(`sessions: ${sessions.length}`)
await host.close()
