import { hostToolName } from '@parley/protocol'
import type { HostToolAnnotations, HostToolContent } from '../../agent-adapter.ts'
import { expect } from '../expect.ts'
import type { ContractTool, ToolContext } from '../host.ts'
import type { Bench, BenchSession, Turn } from './bench.ts'
import { refusalOf } from './capability-case.ts'
import type { CapabilityScenarios } from './setup.ts'

type Scenario = CapabilityScenarios['hostTools']
type Kit = ReturnType<typeof toolKit>

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const picture: HostToolContent[] = [
  { type: 'image', mimeType: 'image/png', data: onePixel },
  { type: 'resource', uri: 'note://one', mimeType: 'text/plain', text: 'drawn by hand' },
]

function toolKit() {
  const calls: { tool: string; input: unknown; context: ToolContext }[] = []
  const lingers = Promise.withResolvers<AbortSignal>()
  const note = (name: string) => async (input: unknown, context: ToolContext) => {
    calls.push({ tool: name, input, context })
    return said(`${(input as { word: string }).word} is a herb`)
  }
  const wait = (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped')))
  const tools = [
    tool('lookup', 'Looks a word up.', { title: 'Look a word up' }, note('lookup')),
    tool('glance', 'Looks at a word.', { readOnly: true, safe: true }, note('glance')),
    tool('draw', 'Draws.', { safe: true }, async () => ({ content: picture })),
    tool('linger', 'Waits until it is stopped.', { safe: true }, async (_input, { signal }) => {
      lingers.resolve(signal)
      return said(await wait(signal))
    }),
  ]
  return { calls, tools, lingers: lingers.promise }
}

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const withWord = new Set(['lookup', 'glance'])

/** A tool whose input has a word, or nothing. */
function tool(
  name: string,
  description: string,
  annotations: Partial<HostToolAnnotations>,
  run: ContractTool['run'],
): ContractTool {
  const properties = withWord.has(name) ? { word: { type: 'string' } } : {}
  const required = Object.keys(properties)
  return {
    name,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    annotations: { title: name, kind: 'other', readOnly: false, safe: false, ...annotations },
    async prepare(input) {
      const isRight = required.every((field) => typeof (input as Record<string, unknown>)[field] === 'string')
      return isRight ? { input } : { problem: `The input of ${name} is not valid: word must be a string` }
    },
    run,
  }
}

export async function showHostTools(bench: Bench, scenario: Scenario): Promise<void> {
  const kit = toolKit()
  await bench.restart({ tools: kit.tools, toolEnv: () => ({ COLOUR: 'green' }) })
  const session = await bench.session(scenario.session)
  await expectAllowed(session, scenario, kit)
  await expectDenied(session, scenario, kit)
  await expectChecked(session, scenario, kit)
  await expectSafe(session, scenario, kit)
  await expectContent(session, scenario)
  await expectStopped(session, scenario, kit)
  if (bench.newAdapter().options?.includes('hostToolsOnly')) await expectOnlyOnes(bench, scenario, kit)
  else await expectRefused(bench, scenario)
}

function call(session: BenchSession, { prompt }: Scenario, name: string, input: unknown = {}): Promise<Turn> {
  return session.prompt(prompt({ name, input }))
}

async function expectAllowed(session: BenchSession, scenario: Scenario, { calls }: Kit): Promise<void> {
  const turn = await call(session, scenario, 'lookup', { word: 'parsley' })
  const ask = await turn.asked()
  expect(ask).toMatchObject({ tool: hostToolName('lookup'), title: 'Look a word up', readOnly: false })
  expect(calls).toEqual([])
  await turn.decide(ask, 'allow')
  await turn.completed()
  expect(turn.all('permission.requested')).toHaveLength(1)
  const [called] = turn.all('tool-call.called')
  expect(called).toMatchObject({ name: hostToolName('lookup'), title: 'Look a word up' })
  const [run, ...others] = calls.splice(0)
  expect(others).toEqual([])
  expect(run).toMatchObject({
    tool: 'lookup',
    input: { word: 'parsley' },
    context: {
      sessionId: session.id,
      cwd: session.all('session.created')[0]?.cwd,
      env: { COLOUR: 'green' },
      toolCallId: called?.toolCallId,
    },
  })
  expect(turn.all('tool-call.ended')).toMatchObject([
    { outcome: 'completed', content: [{ type: 'text', text: 'parsley is a herb' }] },
  ])
  expect(JSON.stringify([turn.said, session.natives]), 'the agent was told').toContain('parsley is a herb')
}

async function expectDenied(session: BenchSession, scenario: Scenario, { calls }: Kit): Promise<void> {
  const turn = await call(session, scenario, 'lookup', { word: 'sage' })
  await turn.decide(await turn.asked(), 'deny')
  await turn.ended()
  expect(turn.all('tool-call.ended').map(({ outcome }) => outcome)).toEqual(['denied'])
  expect(calls).toEqual([])
}

async function expectChecked(session: BenchSession, scenario: Scenario, { calls }: Kit): Promise<void> {
  const turn = await call(session, scenario, 'lookup', { word: 7 })
  await turn.completed()
  const [ended] = turn.all('tool-call.ended')
  expect(ended?.outcome).toBe('failed')
  expect(JSON.stringify(ended?.content)).toMatch(/word.*string/)
  expect(calls).toEqual([])
}

async function expectSafe(session: BenchSession, scenario: Scenario, { calls }: Kit): Promise<void> {
  const turn = await call(session, scenario, 'glance', { word: 'thyme' })
  expect(await turn.ended()).toMatchObject({ outcome: 'completed' })
  expect(calls.splice(0).map(({ tool }) => tool)).toEqual(['glance'])
  expect(turn.all('permission.resolved').map(({ by }) => by)).toEqual(['rule'])
}

async function expectContent(session: BenchSession, scenario: Scenario): Promise<void> {
  const turn = await call(session, scenario, 'draw')
  await turn.ended()
  expect(turn.all('tool-call.ended')).toMatchObject([{ outcome: 'completed', content: picture }])
}

async function expectStopped(session: BenchSession, scenario: Scenario, { lingers }: Kit): Promise<void> {
  const turn = await call(session, scenario, 'linger')
  const signal = await lingers
  expect(signal.aborted).toBe(false)
  await session.command({ type: 'turn.cancel' })
  expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
  expect(signal.aborted).toBe(true)
}

async function expectOnlyOnes(bench: Bench, scenario: Scenario, kit: Kit): Promise<void> {
  const options = { ...scenario.session?.options, hostToolsOnly: true }
  const session = await bench.session({ ...scenario.session, options })
  const turn = await call(session, scenario, 'glance', { word: 'rosemary' })
  expect(await turn.ended()).toMatchObject({ outcome: 'completed' })
  expect(kit.calls.map(({ input }) => input)).toEqual([{ word: 'rosemary' }])
  const { connection } = await bench.host.state(session.id)
  expect(connection?.tools?.toSorted()).toEqual(kit.tools.map(({ name }) => hostToolName(name)).toSorted())
}

/** An agent that cannot be limited to host tools must be refused. */
async function expectRefused(bench: Bench, { session }: Scenario): Promise<void> {
  const options = { ...session?.options, hostToolsOnly: true }
  const refusal = { code: 'not_supported', details: { option: 'hostToolsOnly' } }
  expect(await refusalOf(bench.session({ ...session, options }))).toMatchObject(refusal)
}
