import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Bench } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { AgentHome } from '../../testing/agent-home.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { createClaudeAdapter } from './index.ts'

/** A home with an MCP server of the person, and with Claude Code settings that allow the host tool. */
const home = await AgentHome.forFile()
const config = join(home.path, '.claude')
const echo = new URL('../../testing/mcp-echo.ts', import.meta.url).pathname
const args = ['--conditions=source', echo]
const servers = { echo: { command: process.execPath, args, alwaysLoad: true } }
mkdirSync(config)
writeFileSync(join(config, '.claude.json'), JSON.stringify({ mcpServers: servers }))
writeFileSync(join(config, 'settings.json'), '{ "permissions": { "allow": ["mcp__parley"] } }')

async function benchWithTool({ executable, of = home.path }: { executable?: string; of?: string } = {}) {
  const words: string[] = []
  const lookup = defineTool({
    name: 'lookup',
    description: 'Looks a word up.',
    input: z.object({ word: z.string() }),
    run({ word }) {
      words.push(word)
      return `${word} is a herb`
    },
  })
  const env = home.env('claude', { home: of })
  const adapter = () => createClaudeAdapter({ env, ...(executable && { executable }) })
  const bench = await Bench.open({ adapter, host: contractHost }, adapter())
  const restart = () => bench.restart({ tools: [lookup] })
  await restart()
  return { bench, words, restart, [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose]() }
}

const call = (name: string, input: unknown): ModelAnswer => ({
  toolCalls: [{ name, id: 'toolu_a', arguments: JSON.stringify(input) }],
})
const looking = (word: string, ...then: ModelAnswer[]) =>
  modelPrompt('Look it up.', call('mcp__parley__lookup', { word }), ...then, { content: 'It is a herb.' })
/** The tools in the last request to the model, without the placeholder that the program adds. */
const toolsOfModel = () => {
  const { tools } = (home.model.calls.findLast(({ body }) => body?.tools)?.body ?? {}) as {
    tools?: { name: string }[]
  }
  return tools?.map(({ name }) => name).filter((name) => name !== 'DeferredToolPlaceholder')
}
const withoutEcho = (names: string[] | undefined) => names?.filter((name) => !name.startsWith('mcp__echo'))

it('asks a person although the settings of Claude Code allow the tool', async () => {
  await using under = await benchWithTool()
  const session = await under.bench.session()
  const turn = await session.prompt(looking('sage'))
  const ask = await turn.asked()
  expect(ask).toMatchObject({ tool: 'host:lookup', toolCallId: turn.all('tool-call.called')[0]?.toolCallId })
  await turn.decide(ask, 'deny')
  await turn.ended()
  expect(turn.all('tool-call.ended')).toMatchObject([{ outcome: 'denied' }])
  expect(under.words).toEqual([])
})

it('records a call that the mode allows and that Claude Code does not ask about', async () => {
  await using under = await benchWithTool()
  const session = await under.bench.session({ mode: 'bypass' })
  const turn = await session.prompt(looking('sage'))
  expect(await turn.ended()).toMatchObject({ outcome: 'completed' })
  expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'allowed', by: 'mode' }])
  expect(under.words).toEqual(['sage'])
})

it('offers the listed host tools and the listed built-in tools', async () => {
  await using under = await benchWithTool()
  const both = await under.bench.session({ options: { tools: ['Read', 'host:lookup'] } })
  await (await both.prompt(looking('sage'))).completed()
  expect(withoutEcho(toolsOfModel())).toEqual(['Read', 'mcp__parley__lookup'])
  const other = await under.bench.session({ options: { tools: ['Read'] } })
  await (await other.prompt(modelPrompt('Hello.', { content: 'Hello.' }))).completed()
  expect(withoutEcho(toolsOfModel())).toEqual(['Read'])
})

it('leaves out the MCP servers of the person in a session with host tools only', async () => {
  await using under = await benchWithTool()
  const session = await under.bench.session({ options: { hostToolsOnly: true } })
  const turn = await session.prompt(looking('sage'))
  await turn.completed()
  expect(toolsOfModel()).toEqual(['mcp__parley__lookup'])
  const { connection } = await under.bench.host.state(session.id)
  expect(connection).toMatchObject({ tools: ['host:lookup'], mcpServers: [{ name: 'parley' }] })
  expect(under.words).toEqual(['sage'])
})

it('stops the agent if it nevertheless has other tools', async () => {
  const { path } = await createClaudeAdapter({ env: {} }).probe(AbortSignal.timeout(5_000))
  const heedless = join(home.path, 'heedless')
  const forgetting = 'for a; do shift; [ "$a" = --strict-mcp-config ] || set -- "$@" "$a"; done'
  writeFileSync(heedless, `#!/bin/sh\n${forgetting}\nexec '${path}' "$@"\n`, { mode: 0o755 })
  await using under = await benchWithTool({ executable: heedless })
  const session = await under.bench.session({ options: { hostToolsOnly: true } })
  const turn = await session.prompt(looking('sage'))
  expect(await turn.ended()).toMatchObject({
    outcome: 'failed',
    error: { code: 'forbidden', details: { tools: expect.arrayContaining(['mcp__echo__say']) } },
  })
  expect(turn.all('tool-call.called')).toEqual([])
  await session.until(() => session.all('agent.disconnected')[0])
  expect(await under.bench.host.state(session.id)).toMatchObject({ archived: true, connected: false })
  expect(under.words).toEqual([])
})

it('returns structured output in a session with host tools only', async () => {
  await using under = await benchWithTool()
  const outputSchema = { type: 'object', properties: { count: { type: 'number' } } }
  const session = await under.bench.session({ options: { hostToolsOnly: true, outputSchema } })
  const turn = await session.prompt(looking('sage', call('StructuredOutput', { count: 1 })))
  expect(await turn.completed()).toMatchObject({ structuredOutput: { count: 1 } })
  expect((await under.bench.host.state(session.id)).connection?.tools).toEqual(['host:lookup'])
})

it.each([
  ['if Claude Code itself would ask', () => home.folder('other')],
  ['if Claude Code would not ask', () => home.path],
])('asks across a restart and runs the tool once, %s', async (_, of) => {
  await using under = await benchWithTool({ of: of() })
  const session = await under.bench.session()
  const turn = await session.prompt(looking('sage'))
  const ask = await turn.asked()
  await under.restart()
  await session.listen()
  await turn.decide(ask, 'allow')
  await turn.completed()
  expect(under.words).toEqual(['sage'])
  expect(turn.all('permission.resolved').map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed'])
})
