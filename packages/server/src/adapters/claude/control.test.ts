import { onBench } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { createClaudeAdapter } from './index.ts'

/**
 * Tests settings that change during a session, and requests other than permissions, with the real program.
 */

const home = await AgentHome.forFile()

const world = {
  adapter: () => createClaudeAdapter({ env: home.env('claude') }),
  host: contractHost,
}
const call = (name: string, input: unknown): ModelAnswer => ({
  toolCalls: [{ name, id: 'toolu_a', arguments: JSON.stringify(input) }],
})
const echo = {
  echo: {
    command: process.execPath,
    args: ['--conditions=source', new URL('../../testing/mcp-echo.ts', import.meta.url).pathname],
  },
}
const lastCall = () => JSON.stringify(home.model.calls.at(-1)?.body)

it('options of the process apply from the next turn of the same conversation', () =>
  onBench(world, world.adapter(), async (bench) => {
    const session = await bench.session()
    await (await session.prompt(modelPrompt('The word is sage.', { content: 'Yes.' }))).completed()
    const options = { outputSchema: { type: 'object', properties: { count: { type: 'number' } } } }
    await session.command({ type: 'session.configure', options })
    const counting = modelPrompt('Count.', call('StructuredOutput', { count: 2 }), { content: 'Two.' })
    expect(await (await session.prompt(counting)).completed()).toMatchObject({
      structuredOutput: { count: 2 },
    })
    expect(lastCall().includes('The word is sage.')).toBe(true)
    expect((await bench.host.state(session.id)).effective.options).toEqual(options)
    await session.command({ type: 'session.configure', options: { effort: 'low' } })
    await (await session.prompt(modelPrompt('Again.', { content: 'Yes.' }))).completed()
    expect((await bench.host.state(session.id)).effective.options).toEqual({ ...options, effort: 'low' })
    const connections = new Set(session.all('agent.connected').map((event) => event.connectionId))
    expect(connections.size).toBe(2)
  }))

it('the system prompt is accepted at the start of a conversation, and refused later', () =>
  onBench(world, world.adapter(), async (bench) => {
    const session = await bench.session()
    await session.command({ type: 'session.configure', options: { appendSystemPrompt: 'Speak plainly.' } })
    await (await session.prompt(modelPrompt('Hello.', { content: 'Yes.' }))).completed()
    expect(lastCall().includes('Speak plainly.')).toBe(true)
    const late = session.command({ type: 'session.configure', options: { systemPrompt: 'Sing.' } })
    await expect(late).rejects.toMatchObject({ code: 'not_supported' })
  }))

it('MCP servers can be changed, and an elicitation of a server becomes a question', () =>
  onBench(world, world.adapter(), async (bench) => {
    const session = await bench.session()
    await (await session.prompt(modelPrompt('Hello.', { content: 'Yes.' }))).completed()
    await session.command({ type: 'session.configure', mcpServers: echo })
    const turn = await session.prompt(modelPrompt('Ask.', call('mcp__echo__ask', {}), { content: 'I see.' }))
    await turn.decide(await turn.asked(), 'allow')
    const { requestId, questions } = await turn.first(() => turn.all('question.asked')[0])
    expect(questions).toMatchObject([{ id: 'colour', header: 'echo', freeText: false }])
    await session.command({ type: 'question.answer', requestId, answers: { colour: 'blue' } })
    await turn.completed()
    expect(lastCall().includes('The person says blue')).toBe(true)
  }))

it('the chosen model receives the requests', () =>
  onBench(world, world.adapter(), async (bench) => {
    const session = await bench.session({ model: 'claude-opus-4-5' })
    await (await session.prompt(modelPrompt('Hello.', { content: 'Yes.' }))).completed()
    expect(home.model.calls.at(-1)?.body?.model).toBe('claude-opus-4-5')
    await session.command({ type: 'session.configure', model: 'claude-haiku-4-5' })
    await (await session.prompt(modelPrompt('Hello.', { content: 'Yes.' }))).completed()
    expect(home.model.calls.at(-1)?.body?.model).toMatch(/haiku-4-5/)
  }))
