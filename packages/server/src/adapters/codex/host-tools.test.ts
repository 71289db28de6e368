import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Bench, connectInput } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { AgentHome } from '../../testing/agent-home.ts'
import { contractHost, hostOf } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { agentsFolder } from './codex-under-test.ts'
import { createCodexAdapter } from './index.ts'
import { until } from './programs-under-test.ts'

const home = await AgentHome.forFile()

/** Codex settings of the person that allow the tool without asking. */
const unasked = `[mcp_servers.parley]
url = "http://127.0.0.1:9/mcp"
[mcp_servers.parley.tools.lookup]
approval_mode = "approve"
`

async function benchWithTool({ settings = '', secondSubagents = true } = {}) {
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
  const env = home.env('codex', { home: home.folder(), settings, secondSubagents })
  const adapter = () => createCodexAdapter({ env, agentsFolder })
  const before = listening()
  const bench = await Bench.open({ adapter, host: contractHost }, adapter())
  const restart = () => bench.restart({ tools: [lookup] })
  await restart()
  return {
    bench,
    words,
    restart,
    async [Symbol.asyncDispose]() {
      await bench.expectValidLogs()
      await bench[Symbol.asyncDispose]()
      expect(listening(), 'every server has ended with its connection').toBe(before)
    },
  }
}

function listening(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
}

const call = (name: string, input: unknown): ModelAnswer => ({
  toolCalls: [{ name, id: 'toolu_a', arguments: JSON.stringify(input) }],
})
const lookUp = (word: string) => call('mcp__parley/lookup', { word })
const looking = (word: string) => modelPrompt('Look it up.', lookUp(word), { content: 'It is a herb.' })
/** The tools that the model received. For some models, Codex describes tools in the conversation itself. */
function toolsOfModel(model: string): string[] {
  type ModelInput = {
    readonly tools?: readonly { readonly name: string; readonly tools?: { name: string }[] }[]
  }
  const body = home.model.calls.findLast((made) => made.body?.model === model)?.body
  const inputs = [body, ...((body?.input ?? []) as object[])] as readonly ModelInput[]
  return inputs
    .flatMap(({ tools = [] }) => tools)
    .flatMap(({ name, tools = [] }) => tools.map((tool) => `${name}/${tool.name}`))
}

const hello = modelPrompt('Hello.', { content: 'Hello.' })

it.each([
  ['if Codex itself would ask', ''],
  ['if Codex would not ask', unasked],
])('asks a person once, and records a refusal as a refusal, %s', async (_, settings) => {
  await using under = await benchWithTool({ settings })
  const session = await under.bench.session()
  const turn = await session.prompt(looking('sage'))
  const ask = await turn.asked()
  expect(ask).toMatchObject({ tool: 'host:lookup', toolCallId: turn.all('tool-call.called')[0]?.toolCallId })
  await turn.decide(ask, 'deny')
  await turn.completed()
  expect(turn.all('tool-call.ended')).toMatchObject([{ outcome: 'denied' }])
  expect(under.words).toEqual([])
  const again = await session.prompt(looking('thyme'))
  await again.decide(await again.asked(), 'allow')
  await again.completed()
  expect(again.all('permission.requested')).toHaveLength(1)
  expect(under.words).toEqual(['thyme'])
})

it.each([
  ['if Codex itself would ask', ''],
  ['if Codex would not ask', unasked],
])('asks across a restart and runs the tool once, %s', async (_, settings) => {
  await using under = await benchWithTool({ settings })
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

it('does not run a tool that a rule or the mode refuses, and reports it under the host tool’s name', async () => {
  await using under = await benchWithTool()
  await hostOf(under.bench).addRule({ tool: 'host:lookup', decision: 'deny', scope: 'always' })
  for (const mode of ['bypass', 'read-only'] as const) {
    const session = await under.bench.session({ mode })
    const turn = await session.prompt(looking('sage'))
    await turn.completed()
    expect(turn.all('tool-call.called')).toMatchObject([{ name: 'host:lookup' }])
    expect(turn.all('tool-call.ended')).toMatchObject([{ outcome: 'denied' }])
  }
  expect(under.words).toEqual([])
})

it.each(['gpt-6-astra', 'gpt-5.5'])('offers the tools to the model at once: %s', async (model) => {
  await using under = await benchWithTool()
  const session = await under.bench.session({ model })
  const turn = await session.prompt(looking('sage'))
  await turn.decide(await turn.asked(), 'allow')
  await turn.completed()
  expect(under.words).toEqual(['sage'])
  expect(toolsOfModel(model)).toContain('mcp__parley/lookup')
})

it('a subagent has the tools too, and its calls have the call that started it as their parent', async () => {
  await using under = await benchWithTool({ secondSubagents: false })
  const session = await under.bench.session({ mode: 'bypass' })
  const spawn = call('multi_agent_v1/spawn_agent', { message: looking('sage') })
  const wait = call('exec_command', { cmd: 'until [ -e go ]; do sleep 0.05; done' })
  const turn = await session.prompt(modelPrompt('Delegate.', spawn, wait, { content: 'Done.' }))
  const looked = await session.until(
    () => session.all('tool-call.called').filter(({ name }) => name === 'host:lookup')[0],
  )
  await session.until(() =>
    session.all('tool-call.ended').find((end) => end.toolCallId === looked.toolCallId),
  )
  writeFileSync(join(under.bench.folder, 'go'), '')
  await turn.completed()
  const spawned = turn.all('tool-call.called').find(({ kind }) => kind === 'subagent')
  expect(looked.parentToolCallId).toBe(spawned?.toolCallId)
  expect(session.all('permission.resolved')).toContainEqual(
    expect.objectContaining({ outcome: 'allowed', by: 'mode' }),
  )
  expect(under.words).toEqual(['sage'])
})

it('offers the tools again, at another address, when it restarts while another session is open', async () => {
  await using under = await benchWithTool()
  const other = await under.bench.session()
  await (await other.prompt(hello)).completed()
  const session = await under.bench.session()
  for (const word of ['sage', 'thyme']) {
    const turn = await session.prompt(looking(word))
    await turn.decide(await turn.asked(), 'allow')
    await turn.completed()
    await session.command({ type: 'session.configure', options: { appendSystemPrompt: word } })
  }
  expect(session.all('agent.connected').filter(({ agentSessionId }) => agentSessionId)).toHaveLength(2)
  expect(under.words).toEqual(['sage', 'thyme'])
})

it('no tool server outlives an agent that dies or fails to start', async () => {
  await using under = await benchWithTool()
  const before = listening()
  const session = await under.bench.session()
  await (await session.prompt(hello)).completed()
  expect(listening()).toBe(before + 1)
  killCodex()
  await session.until(() => session.all('agent.disconnected')[0])
  await until(() => listening() === before)

  const nobody = home.folder('nobody')
  const env = { PATH: process.env.PATH, HOME: nobody }
  const stranger = createCodexAdapter({ env, agentsFolder })
  const hostTools = { tools: [], call: async () => ({ content: [] }) }
  const refused = stranger.connect(connectInput({ cwd: nobody, hostTools }))
  await expect(refused).rejects.toMatchObject({ code: 'agent_not_signed_in' })
  expect(listening()).toBe(before)
})

function killCodex(): void {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  for (const line of children.split('\n').filter((text) => text.includes('app-server'))) {
    process.kill(Number.parseInt(line, 10), 'SIGKILL')
  }
}
