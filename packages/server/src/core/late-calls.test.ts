import type { AgentOutput } from '@parley/adapter-kit'
import type { SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { logProblems } from '../testing/invariants.ts'
import {
  connectedAs,
  type FaultyAgent,
  type FaultyConnection,
  faultyAgent,
} from './faulty-agent-under-test.ts'
import { type HostUnderTest, hostUnderTest, type SessionUnderTest } from './host-under-test.ts'

type World = AsyncDisposable & {
  readonly session: SessionUnderTest
  readonly base: HostUnderTest
  readonly agent: FaultyAgent
  /** Starts a turn, in which the agent produces these outputs. */
  begin(...outputs: AgentOutput[]): Promise<void>
  /** Makes the agent produce these outputs; resolves when they are recorded. */
  say(...outputs: AgentOutput[]): Promise<void>
  /** The recorded events about calls, and the notices and unrecognised messages that may replace them. */
  recorded(): Promise<SessionEvent[]>
}

/**
 * A session with an agent that answers no prompt by itself. At the end, the log must satisfy the invariants.
 */
async function world(): Promise<World> {
  const agent = faultyAgent((connection) => {
    connection.say(connectedAs('native'))
    return {}
  })
  const base = await hostUnderTest({ adapter: agent.adapter })
  const session = await base.create()
  const all = async () => {
    const stored = await base.store.read(session.id, { after: 0, limit: 100_000 })
    return stored.map(({ json }) => JSON.parse(json) as SessionEvent)
  }
  let said = 0
  const say = async (...outputs: AgentOutput[]) => {
    const mark = `mark ${++said}`
    const connection = agent.connections.at(-1) as FaultyConnection
    connection.say(...outputs, { type: 'session.configured', effective: { model: mark } })
    await session.when(({ effective }) => effective.model === mark)
  }
  return {
    session,
    base,
    agent,
    say,
    async begin(...outputs) {
      await session.command({ type: 'prompt.submit', text: 'Go.' })
      await session.when(({ turn, connected }) => turn !== undefined && connected)
      await say(...outputs)
    },
    async recorded() {
      return (await all()).filter(({ type }) => /^(tool-call\.|agent\.(noticed|unrecognised))/.test(type))
    },
    async [Symbol.asyncDispose]() {
      await base[Symbol.asyncDispose]()
      expect(logProblems(await all())).toEqual([])
    },
  }
}

type Parent = { parentToolCallId?: string }
const called = (toolCallId: string, parent: Parent = {}): AgentOutput => ({
  type: 'tool-call.called',
  toolCallId,
  name: 'Bash',
  kind: 'execute',
  title: `Run ${toolCallId}`,
  input: {},
  ...parent,
})
const ended = (toolCallId: string, parent: Parent = {}): AgentOutput => ({
  type: 'tool-call.ended',
  toolCallId,
  outcome: 'completed',
  content: [{ type: 'text', text: 'done' }],
  ...parent,
})
const updated = (toolCallId: string): AgentOutput => ({ type: 'tool-call.updated', toolCallId, title: 'New' })
const streamed = (toolCallId: string): AgentOutput => ({
  type: 'tool-call.output-streamed',
  toolCallId,
  text: 'more',
})
const turnEnded: AgentOutput = { type: 'turn.ended', outcome: 'completed', stopReason: 'end' }
const task = (status: 'running' | 'completed'): AgentOutput => ({
  type: 'task.updated',
  taskId: 'task',
  toolCallId: 'spawn',
  title: 'Look around',
  status,
  background: true,
})
const late = (toolCallId: string) => ({
  type: 'agent.noticed',
  level: 'info',
  code: 'late-result',
  text: `Run ${toolCallId}: completed`,
  data: { toolCallId, outcome: 'completed', content: [{ type: 'text', text: 'done' }] },
})
const closed = { type: 'tool-call.ended', toolCallId: 'a', outcome: 'failed' }

describe('after the end of its turn, a call', () => {
  it('that the host ended gets a notice with its result', async () => {
    await using odd = await world()
    await odd.begin(called('a'), turnEnded)
    await odd.say(ended('a'))
    const events = await odd.recorded()
    expect(events).toMatchObject([{ type: 'tool-call.called' }, closed, late('a')])
    expect(events[2]).not.toHaveProperty('turnId')
  })

  it('gets the notice even during the next turn, to which the call is not added', async () => {
    await using odd = await world()
    await odd.begin(called('a'), turnEnded)
    await odd.begin(ended('a'), turnEnded)
    const { lastTurn } = await odd.session.when(({ turn }) => turn === undefined)
    expect(await odd.recorded()).toMatchObject([
      { type: 'tool-call.called' },
      closed,
      { ...late('a'), turnId: lastTurn?.turnId },
    ])
  })

  it('gets one notice, however often its result is reported', async () => {
    await using odd = await world()
    await odd.begin(called('a'), turnEnded)
    await odd.say(...Array.from({ length: 10_000 }, () => ended('a')))
    await odd.begin(ended('a'), updated('a'), turnEnded)
    await odd.say(ended('a'))
    expect(await odd.recorded()).toMatchObject([{ type: 'tool-call.called' }, closed, late('a')])
  })

  it('whose result is recorded gets no further event', async () => {
    await using odd = await world()
    await odd.begin(called('a'), ended('a'), turnEnded)
    await odd.say(ended('a'), updated('a'))
    await odd.begin(ended('a'), updated('a'), turnEnded)
    expect(await odd.recorded()).toMatchObject([{ type: 'tool-call.called' }, ended('a')])
  })

  it('gets no updates and no output', async () => {
    await using odd = await world()
    await odd.begin(called('a'), turnEnded)
    await odd.say(updated('a'), streamed('a'))
    await odd.begin(updated('a'), streamed('a'))
    expect((await odd.session.when(() => true)).openBlocks).toEqual([])
    await odd.say(turnEnded)
    expect(await odd.recorded()).toMatchObject([{ type: 'tool-call.called' }, closed])
  })

  it('of a subagent gets a notice below the call of the subagent', async () => {
    const parent = { parentToolCallId: 'spawn' }
    await using odd = await world()
    await odd.begin(called('spawn'), called('a', parent), called('b', parent), turnEnded)
    await odd.say(ended('a', parent))
    await odd.begin(ended('b', parent), turnEnded)
    const notices = (await odd.recorded()).slice(-2)
    expect(notices).toMatchObject([
      { ...late('a'), ...parent },
      { ...late('b'), ...parent },
    ])
  })

  it('that the agent never reported is kept as unrecognised', async () => {
    await using odd = await world()
    await odd.begin(turnEnded)
    await odd.say(ended('a'))
    expect(await odd.recorded()).toMatchObject([
      { type: 'agent.unrecognised', native: ended('a'), reason: 'outside a turn' },
    ])
  })

  it('of an ended process counts as unknown to the next process', async () => {
    await using odd = await world()
    await odd.begin(called('a'), turnEnded)
    await odd.base.restart()
    await odd.begin(turnEnded)
    await odd.say(ended('a'))
    expect(odd.agent.connections).toHaveLength(2)
    expect((await odd.recorded()).slice(2)).toMatchObject([
      { type: 'agent.unrecognised', native: ended('a'), reason: 'outside a turn' },
    ])
  })

  it('of a parked turn that was resumed ends once, even if the new process reports its result', async () => {
    await using odd = await world()
    await odd.begin(called('a'))
    const ask = { toolCallId: 'a', tool: 'Bash', kind: 'execute' as const, title: 'Run a', input: {} }
    void odd.agent.connections[0]?.input.person.permit(ask)
    await odd.session.when(({ requests }) => requests.length > 0)
    await odd.base.restart()
    await odd.session.decide('allow')
    await odd.session.when(({ turn, connected }) => turn !== undefined && !turn.parked && connected)
    await odd.say(ended('a'), turnEnded)
    expect(await odd.recorded()).toMatchObject([
      called('a'),
      { ...closed, outcome: 'cancelled' },
      late('a'),
      { code: 'answer_unused' },
    ])
  })

  it('of a task that has ended gets the notice once, even during the next turn', async () => {
    const parent = { parentToolCallId: 'spawn' }
    await using odd = await world()
    await odd.begin(called('spawn'), task('running'), called('a', parent), turnEnded)
    await odd.say(called('b', parent), called('c', parent), ended('c', parent), task('completed'))
    await odd.begin(ended('a', parent), ended('b', parent), ended('c', parent), ended('b', parent), turnEnded)
    await odd.say(ended('a', parent))
    const events = await odd.recorded()
    expect(events.filter(({ type }) => type === 'tool-call.called')).toHaveLength(4)
    expect(events.filter(({ type }) => type === 'tool-call.ended')).toHaveLength(4)
    expect(events.filter(({ type }) => !type.startsWith('tool-call.'))).toMatchObject([
      { ...late('a'), ...parent },
      { ...late('b'), ...parent },
    ])
  })

  it('does not affect a call of the running turn', async () => {
    await using odd = await world()
    await odd.begin(called('a'), turnEnded)
    await odd.begin(called('b'), ended('a'), updated('b'), streamed('b'))
    const { openBlocks } = await odd.session.when(() => true)
    expect(openBlocks).toMatchObject([{ id: 'b', output: 'more' }])
    await odd.say(ended('b'), ended('b'), turnEnded)
    expect((await odd.recorded()).slice(2)).toMatchObject([
      called('b'),
      late('a'),
      updated('b'),
      ended('b'),
      { type: 'agent.unrecognised', native: ended('b'), reason: 'comes after the end of its call' },
    ])
  })

  it('is remembered for a limited number of later calls', async () => {
    await using odd = await world()
    const ids = Array.from({ length: 1001 }, (_, index) => `call ${index}`)
    await odd.begin(...ids.map((id) => called(id)), turnEnded)
    await odd.say(ended('call 0'), ended('call 1'))
    expect((await odd.recorded()).slice(-2)).toMatchObject([
      { type: 'agent.unrecognised', native: ended('call 0') },
      late('call 1'),
    ])
  })

  it('that was forgotten does not become a call of the next turn', async () => {
    await using odd = await world()
    const ids = Array.from({ length: 1001 }, (_, index) => `call ${index}`)
    await odd.begin(...ids.map((id) => called(id)), turnEnded)
    await odd.begin(updated('call 0'), ended('call 0'), ended('call 1'), turnEnded)
    const events = (await odd.recorded()).slice(2 * ids.length)
    expect(events).toMatchObject([
      late('call 1'),
      { type: 'agent.unrecognised', native: updated('call 0'), reason: 'the result of an unknown call' },
      { type: 'agent.unrecognised', native: ended('call 0'), reason: 'the result of an unknown call' },
    ])
  })

  it('that is only inferred from a message starts no turn, and its result becomes a notice', async () => {
    await using odd = await world()
    const inferred: AgentOutput = {
      ...(called('a') as AgentOutput & { type: 'tool-call.called' }),
      inferred: true,
    }
    await odd.begin(turnEnded)
    await odd.say(inferred, updated('a'))
    expect(await odd.session.when(() => true)).toMatchObject({ status: 'idle', turns: 1, openBlocks: [] })
    await odd.begin(ended('a'), turnEnded)
    expect(await odd.recorded()).toMatchObject([
      { type: 'agent.unrecognised', native: inferred, reason: 'outside a turn' },
      late('a'),
    ])
  })
})

describe('a call of a background task', () => {
  const parent = { parentToolCallId: 'spawn' }

  it('ends after the turn in which it began', async () => {
    await using odd = await world()
    await odd.begin(called('spawn'), called('a', parent), task('running'), ended('spawn'), turnEnded)
    await odd.say(ended('a', parent))
    expect((await odd.recorded()).slice(2)).toMatchObject([ended('spawn'), ended('a')])
    await odd.say(task('completed'))
  })

  it('gets a notice with its result after the end of the task', async () => {
    await using odd = await world()
    await odd.begin(called('spawn'), ended('spawn'), task('running'), turnEnded)
    await odd.say(called('a', parent), task('completed'), ended('a', parent), ended('a', parent))
    expect((await odd.recorded()).slice(2)).toMatchObject([
      called('a'),
      { ...closed, outcome: 'cancelled' },
      { ...late('a'), ...parent },
    ])
  })
})
