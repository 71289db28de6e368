import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CapabilityName, CommandInput, PermissionMode, SessionEvent } from '@parley/protocol'
import { expect } from '../peers.ts'
import { backgroundCase } from './background-cases.ts'
import { type Bench, type BenchSession, Turn } from './bench.ts'
import { showHostTools } from './host-tool-case.ts'
import { showRejoin } from './rejoin-case.ts'
import type { CapabilityScenarios, Scenario, Scenarios } from './setup.ts'
import { steerCases } from './steer-cases.ts'

/**
 * How a capability is demonstrated, and if a command needs it, how that command is refused when it is not declared.
 */
export type CapabilityCase<Name extends CapabilityName> = {
  readonly title: string
  shows(bench: Bench, scenario: CapabilityScenarios[Name], scenarios: Scenarios): Promise<void>
  /** Further cases for an agent with the capability, each a test of its own. */
  readonly more?: readonly (Pick<CapabilityCase<Name>, 'title' | 'shows'> & {
    /** Whether the scenarios have what the case needs. */
    needs?(scenario: CapabilityScenarios[Name], scenarios: Scenarios): boolean
  })[]
  readonly refused?: (bench: Bench, scenarios: Scenarios) => Promise<unknown>
}

export type CapabilityCases = { readonly [Name in CapabilityName]: CapabilityCase<Name> }

/**
 * One case for each capability. To add one: name it in the protocol, describe its scenario in setup.ts, and
 * demonstrate it here.
 */
export const capabilityCases: CapabilityCases = {
  streaming: {
    title: 'text is streamed in pieces before it is written',
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      const pieces = turn.deltas.filter((delta) => delta.type === 'text.streamed')
      expect(pieces.length).toBeGreaterThan(1)
    },
  },
  thinking: {
    title: 'thinking is separate from text',
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      expect(turn.all('thinking.written').map((event) => event.text.trim())).not.toContain('')
      expect(turn.all('thinking.written')).not.toEqual([])
    },
  },
  toolInputStreaming: {
    title: 'the input of a call is streamed before the call',
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      const pieces = turn.deltas.filter((delta) => delta.type === 'tool-call.input-streamed')
      const called = turn.all('tool-call.called').map((event) => event.toolCallId)
      expect(pieces.length).toBeGreaterThan(1)
      for (const { toolCallId } of pieces) expect(called).toContain(toolCallId)
    },
  },
  toolOutputStreaming: {
    title: 'the output of a call is streamed before its end',
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario)
      expect(turn.deltas.map((delta) => delta.type)).toContain('tool-call.output-streamed')
    },
  },
  permissions: {
    title: 'a call waits for its permission, and takes effect once',
    async shows(bench, scenario) {
      const { session, turn } = await start(bench, scenario)
      const ask = await turn.asked()
      expect(await bench.file(scenario.effect.path)).toBeUndefined()
      expect((await bench.host.state(session.id)).status).toBe('waiting')
      await turn.decide(ask, 'allow')
      await turn.completed()
      expect(await bench.file(scenario.effect.path)).toBe(scenario.effect.text)
      expect(turn.all('tool-call.ended').map((event) => event.outcome)).toContain('completed')
    },
  },
  editInput: {
    title: 'a call runs with its input as a person edited it',
    async shows(bench, scenario) {
      const { turn } = await start(bench, scenario)
      await turn.decide(await turn.asked(), 'allow', { input: scenario.input })
      await turn.completed()
      expect(await bench.file(scenario.effect.path)).toBe(scenario.effect.text)
    },
    async refused(bench, { permissions }) {
      if (!permissions) return nothingToRefuse
      const { turn } = await start(bench, permissions)
      const ask = await turn.asked()
      const refusal = await refusalOf(turn.decide(ask, 'allow', { input: { edited: true } }))
      await turn.decide(ask, 'deny')
      await turn.ended()
      return refusal
    },
  },
  questions: {
    title: 'a question is asked, and the answer reaches the agent',
    async shows(bench, scenario) {
      const { session, turn } = await start(bench, scenario)
      const asked = await turn.first(() => turn.all('question.asked')[0])
      const { requestId, questions } = asked
      await session.command({ type: 'question.answer', requestId, answers: scenario.answers(questions) })
      await turn.completed()
      expect(turn.said).toContain(scenario.says)
    },
  },
  plan: {
    title: 'a plan is reported',
    async shows(bench, scenario) {
      const { session } = await play(bench, scenario)
      expect((await bench.host.state(session.id)).plan).not.toEqual([])
    },
  },
  planApproval: {
    title: 'a plan is shown to a person; when approved, it runs in the mode ask',
    async shows(bench, scenario) {
      const { session, turn } = await start(bench, scenario)
      const ask = await turn.asked()
      expect(ask.kind).toBe('plan')
      await turn.decide(ask, 'allow')
      await turn.completed()
      const { requested, effective } = await bench.host.state(session.id)
      expect([requested.mode, effective.mode]).toEqual(['ask', 'ask'])
    },
  },
  subagents: {
    title: 'events of a subagent name the call that started it',
    async shows(bench, scenario) {
      const { session } = await play(bench, scenario)
      const calls = session.all('tool-call.called')
      const subagents = calls.filter((call) => call.kind === 'subagent').map((call) => call.toolCallId)
      const inner = [...calls, ...session.all('text.written')].flatMap(
        (event) => event.parentToolCallId ?? [],
      )
      expect(inner).not.toEqual([])
      for (const parent of inner) expect(subagents).toContain(parent)
    },
  },
  background: {
    ...backgroundCase,
    refused: (bench) => refusedCommand(bench, { type: 'task.stop' }),
  },
  images: {
    title: 'an image in a prompt reaches the agent',
    shows: expectSaid,
    refused: (bench) =>
      refusedCommand(bench, {
        type: 'prompt.submit',
        parts: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }],
      }),
  },
  files: {
    title: 'a file in a prompt reaches the agent',
    shows: expectSaid,
    refused: (bench) =>
      refusedCommand(bench, { type: 'prompt.submit', parts: [{ type: 'file', name: 'a.txt', text: 'a' }] }),
  },
  resume: {
    title: 'the agent remembers the conversation after a restart, and an open request survives it',
    async shows(bench, { first, second, says }, { permissions }) {
      const session = await bench.session(permissions?.session)
      await (await session.prompt(first)).completed()
      const waiting = permissions && (await session.prompt(permissions.prompt))
      const ask = await waiting?.asked()
      await bench.restart()
      await session.listen()
      if (permissions && waiting && ask) {
        await waiting.decide(ask, 'allow')
        await waiting.completed()
        expect(await bench.file(permissions.effect.path)).toBe(permissions.effect.text)
      }
      const turn = await session.prompt(second)
      await turn.completed()
      expect(turn.said).toContain(says)
    },
  },
  fork: {
    title: 'a fork remembers the conversation before it, and continues separately',
    async shows(bench, { first, second, says }) {
      const origin = await bench.session()
      await (await origin.prompt(first)).completed()
      const { sessionId } = await origin.command({ type: 'session.fork' })
      const fork = await bench.follow(sessionId ?? '')
      const turn = await fork.prompt(second)
      await turn.completed()
      expect(turn.said).toContain(says)
      const { connection } = await bench.host.state(fork.id)
      expect(connection?.agentSessionId).not.toBe(
        (await bench.host.state(origin.id)).connection?.agentSessionId,
      )
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.fork' }),
  },
  interrupt: {
    title: 'a cancelled turn leaves the agent connected',
    async shows(bench, _scenario, { busy, text }) {
      const { session, turn } = await start(bench, busy)
      await turn.begun()
      await session.command({ type: 'turn.cancel' })
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      await (await session.prompt(text.prompt)).completed()
      expect(session.all('agent.disconnected')).toEqual([])
    },
  },
  steer: {
    title: 'a steered prompt reaches the running turn',
    async shows(bench, scenario) {
      const { session, turn } = await start(bench, scenario)
      await turn.begun()
      await session.prompt(scenario.words, 'steer')
      scenario.release?.()
      await turn.completed()
      expect(turn.said).toContain(scenario.says)
      expect(session.all('turn.started')).toHaveLength(1)
    },
    more: steerCases,
    refused: (bench) =>
      refusedCommand(bench, { type: 'prompt.submit', text: 'to the left', delivery: 'steer' }),
  },
  models: {
    title: 'a model can be chosen, at the start and later',
    async shows(bench, { model }, { text }) {
      const chosen = await bench.session({ model })
      await (await chosen.prompt(text.prompt)).completed()
      expect((await bench.host.state(chosen.id)).effective.model).toBe(model)
      await expectInForce(bench, text, { model })
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.configure', model: 'any' }),
  },
  effort: {
    title: 'an effort can be chosen',
    shows: (bench, { effort }, { text }) => expectInForce(bench, text, { options: { effort } }),
    refused: (bench) => refusedCommand(bench, { type: 'session.configure', options: { effort: 'high' } }),
  },
  modes: {
    title: 'a mode can be chosen',
    shows: (bench, { mode }, { text }) => expectInForce(bench, text, { mode }),
    async refused(bench) {
      const [agent] = await bench.host.agents()
      const all: PermissionMode[] = ['ask', 'accept-edits', 'read-only', 'plan', 'bypass']
      const mode = all.find((one) => !agent?.modes.includes(one))
      if (!mode) return nothingToRefuse
      return refusedCommand(bench, { type: 'session.configure', mode })
    },
  },
  mcp: {
    title: 'tools of MCP servers can be called',
    async shows(bench, scenario) {
      const { turn } = await play(bench, scenario, { mcpServers: scenario.servers })
      expect(turn.said).toContain(scenario.says)
    },
    refused: (bench) => refusalOf(bench.session({ mcpServers: { any: { command: 'true' } } })),
  },
  hostTools: {
    title:
      "the host's own tools run as far as they are allowed, and as the only ones where that is an option",
    shows: showHostTools,
    refused: (bench) => refusalOf(bench.session({ options: { hostToolsOnly: true } })),
  },
  commands: {
    title: "the agent's own commands are listed and run",
    async shows(bench, scenario) {
      const { session, turn } = await play(bench, scenario)
      const { connection } = await bench.host.state(session.id)
      expect(connection?.commands?.map((command) => command.name)).toContain(scenario.command)
      expect(turn.said).toContain(scenario.says)
    },
  },
  compaction: {
    title: 'the context is compacted on command',
    async shows(bench, _scenario, { text }) {
      const { session } = await play(bench, text)
      const { promptId } = await session.command({ type: 'session.compact' })
      const turn = new Turn(session, promptId ?? '')
      await turn.completed()
      expect(session.all('context.compacted').map((event) => event.trigger)).toEqual(['manual'])
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.compact' }),
  },
  rewind: {
    title: 'files are restored to their state before a prompt, as previewed, and that can be undone',
    async shows(bench, scenario) {
      const { session, turn } = await play(bench, scenario)
      const { path, text } = scenario.effect
      const { promptId } = turn
      const rewind = async (more: { undo?: true } = {}) => {
        const ends = session.all('turn.ended').length
        await session.command({ type: 'session.rewind', promptId, ...more })
        return session.until(() => session.all('turn.ended')[ends])
      }
      await session.command({ type: 'session.close' })
      const { files } = await bench.host.previewRewind(session.id, promptId)
      expect(files).toEqual([join(await realpath(bench.folder), path)])
      expect(await bench.file(path)).toBe(text)
      const stopReason = 'rewound'
      expect(await rewind()).toMatchObject({ stopReason, result: expect.stringContaining(path) })
      expect(await bench.file(path)).toBeUndefined()
      expect(await rewind({ undo: true })).toMatchObject({ stopReason: 'rewind_undone' })
      expect(await bench.file(path)).toBe(text)
      await rewind()
      await writeFile(join(bench.folder, path), 'by somebody else')
      expect(await rewind({ undo: true })).toMatchObject({ outcome: 'failed', error: { code: 'conflict' } })
      expect(await bench.file(path)).toBe('by somebody else')
      const unknown = bench.host.previewRewind(session.id, 'prm_unknown')
      await expect(unknown).rejects.toMatchObject({ code: 'conflict' })
    },
    refused: (bench) => refusedCommand(bench, { type: 'session.rewind', promptId: 'prm_any' }),
  },
  usage: {
    title: 'the usage of the context is measured',
    async shows(bench, scenario) {
      const { session } = await play(bench, scenario)
      expect((await bench.host.state(session.id)).usage?.context.used).toBeGreaterThan(0)
    },
  },
  cost: {
    title: 'the cost is reported',
    async shows(bench, scenario) {
      const { session, end } = await play(bench, scenario)
      const { usage } = await bench.host.state(session.id)
      expect(end.costUsd ?? usage?.costUsd).toBeGreaterThan(0)
    },
  },
  structuredOutput: {
    title: 'the result has a given shape',
    async shows(bench, scenario) {
      const { end } = await play(bench, scenario, { options: { outputSchema: scenario.schema } })
      expect(end.structuredOutput).toEqual(scenario.value)
    },
    refused: (bench) =>
      refusedCommand(bench, { type: 'session.configure', options: { outputSchema: { type: 'object' } } }),
  },
  retraction: {
    title: 'a retracted block is removed',
    async shows(bench, scenario) {
      const { session, turn } = await play(bench, scenario)
      const [retracted] = turn.all('block.retracted')
      expect(retracted).toBeDefined()
      const { blocks } = await bench.host.detail(session.id, 100)
      expect(blocks.map((block) => block.id)).not.toContain(retracted?.blockId)
    },
  },
  rejoin: {
    title:
      "what is said in the agent's own program is known to the agent, and recorded once, in both directions",
    shows: showRejoin,
  },
  environment: {
    title: "variables of a session reach the agent's process, and changed ones reach its next turn",
    async shows(bench, scenario) {
      const env = { CONTRACT_WORD: 'parsley' }
      const { session } = await play(bench, scenario, { env })
      expect(await bench.file('word.txt')).toBe('parsley\n')
      const variables = { CONTRACT_WORD: 'sage' }
      await bench.host.setEnvironment({ sessionId: session.id, variables })
      await (await session.prompt(scenario.prompt)).completed()
      expect(await bench.file('word.txt')).toBe('sage\n')
    },
    refused: (bench) => refusalOf(bench.session({ env: { CONTRACT_WORD: 'parsley' } })),
  },
}

type Played = { session: BenchSession; turn: Turn }

async function start(
  bench: Bench,
  { prompt, session: settings }: Scenario,
  more: Parameters<Bench['session']>[0] = {},
): Promise<Played> {
  const session = await bench.session({ ...settings, ...more })
  return { session, turn: await session.prompt(prompt) }
}

/** Runs a scenario to its completion, allowing what it asks for. */
export async function play(
  bench: Bench,
  scenario: Scenario,
  more: Parameters<Bench['session']>[0] = {},
): Promise<Played & { end: Extract<SessionEvent, { type: 'turn.ended' }> }> {
  const played = await start(bench, scenario, more)
  return { ...played, end: await played.turn.completed() }
}

async function expectSaid(bench: Bench, scenario: Scenario & { says: string }): Promise<void> {
  const { turn } = await play(bench, scenario)
  expect(turn.said).toContain(scenario.says)
}

/** Configures between two turns of one connection. */
async function expectInForce(
  bench: Bench,
  text: Scenario,
  settings: { model?: string; mode?: PermissionMode; options?: { effort: string } },
): Promise<void> {
  const { session } = await play(bench, text)
  await session.command({ type: 'session.configure', ...settings })
  await (await session.prompt(text.prompt)).completed()
  expect((await bench.host.state(session.id)).effective).toMatchObject(settings)
}

type CommandBody = CommandInput extends infer One
  ? One extends unknown
    ? Omit<One, 'commandId'>
    : never
  : never

async function refusedCommand(bench: Bench, command: CommandBody): Promise<unknown> {
  const session = await bench.session()
  const before = session.events.length
  const refusal = await refusalOf(session.command(command))
  expect(session.events).toHaveLength(before)
  return refusal
}

/** No command that needs the capability can be sent here. */
export const nothingToRefuse = Symbol('nothing to refuse')

/** The error it was refused with; undefined if it was not refused. */
export function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (refusal: unknown) => refusal,
  )
}
