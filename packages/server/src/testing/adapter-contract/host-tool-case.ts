import type { HostToolContent } from '@parley/adapter-kit'
import { hostToolName } from '@parley/protocol'
import { z } from 'zod'
import type { HostToolContext } from '../../core/index.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { expect } from '../peers.ts'
import type { Bench, BenchSession, Turn } from './bench.ts'
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
  const calls: { tool: string; input: unknown; context: HostToolContext }[] = []
  const lingers = Promise.withResolvers<AbortSignal>()
  const word = z.object({ word: z.string() })
  const note = (tool: string) => (input: { word: string }, context: HostToolContext) => {
    calls.push({ tool, input, context })
    return `${input.word} is a herb`
  }
  const tools = [
    defineTool({
      name: 'lookup',
      description: 'Looks a word up.',
      input: word,
      annotations: { title: 'Look a word up' },
      run: note('lookup'),
    }),
    defineTool({
      name: 'glance',
      description: 'Looks at a word.',
      input: word,
      annotations: { readOnly: true, safe: true },
      run: note('glance'),
    }),
    defineTool({
      name: 'draw',
      description: 'Draws.',
      input: z.object({}),
      annotations: { safe: true },
      run: () => ({ content: picture }),
    }),
    defineTool({
      name: 'linger',
      description: 'Waits until it is stopped.',
      input: z.object({}),
      annotations: { safe: true },
      run(_input, { signal }) {
        lingers.resolve(signal)
        return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped')))
      },
    }),
  ]
  return { calls, tools, lingers: lingers.promise }
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
  expect(calls.splice(0)).toEqual([
    {
      tool: 'lookup',
      input: { word: 'parsley' },
      context: {
        sessionId: session.id,
        cwd: session.all('session.created')[0]?.cwd,
        env: { COLOUR: 'green' },
        signal: expect.any(AbortSignal),
        temporaryFolder: expect.any(Function),
        toolCallId: called?.toolCallId,
      },
    },
  ])
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
  await expect(bench.session({ ...session, options })).rejects.toMatchObject(refusal)
}
