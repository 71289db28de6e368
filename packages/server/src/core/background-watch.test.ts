import type { AgentOutput } from '@parley/adapter-kit'
import { afterEach, describe, expect, it } from 'vitest'
import { logProblems } from '../testing/invariants.ts'
import {
  connectedAs,
  type FaultyAgent,
  type FaultyConnection,
  faultyAgent,
  loopTurns,
  until,
} from './faulty-agent-under-test.ts'
import { type HostUnderTest, hostUnderTest, type SessionUnderTest } from './host-under-test.ts'

const minute = 60_000
const limits = { backgroundMs: 10 * minute, backgroundTotalMs: 60 * minute, maxConnections: 1 }

type World = {
  readonly agent: FaultyAgent
  readonly under: HostUnderTest
  readonly session: SessionUnderTest
  /** Makes the open connection send these outputs; resolves when they are in the log. */
  says(...outputs: AgentOutput[]): Promise<void>
  /** Advances the clock by `minutes`, and makes the agent report every five minutes that its task still runs. */
  reportsFor(minutes: number, taskId?: string): Promise<void>
}

const worlds: World[] = []
afterEach(async () => {
  for (const { under, session } of worlds.splice(0)) {
    const log = await session.log()
    await under[Symbol.asyncDispose]()
    expect([...logProblems(log), ...under.problems]).toEqual([])
  }
})

/**
 * An agent that reports its id, starts a background task in each turn, and otherwise sends only the outputs that a test
 * gives it.
 */
async function world(): Promise<World> {
  const agent = faultyAgent((connection) => ({
    async send({ prompt }) {
      connection.say(connectedAs('odd'), running(`task ${prompt.promptId}`))
      connection.endTurn()
    },
  }))
  const adapter: typeof agent.adapter = (scripted) => ({ ...agent.adapter(scripted), endsOwnTurns: true })
  const under = await hostUnderTest({ limits, adapter })
  const session = await under.create()
  const made: World = {
    agent,
    under,
    session,
    async says(...outputs) {
      const { seq } = await session.state()
      agent.connections.at(-1)?.say(...outputs)
      await session.when((state) => state.seq >= seq + outputs.length)
    },
    async reportsFor(minutes, taskId) {
      const task = taskId ?? (await onlyTask(session))
      for (let passed = 0; passed < minutes; passed += 5) {
        under.time.advance(5 * minute)
        await made.says(running(task, `${passed} minutes`))
      }
    },
  }
  worlds.push(made)
  return made
}

const running = (taskId: string, summary?: string): AgentOutput => ({
  type: 'task.updated',
  taskId,
  title: 'watch the build',
  status: 'running',
  background: true,
  ...(summary && { summary }),
})

async function onlyTask(session: SessionUnderTest): Promise<string> {
  const { tasks } = await session.when((state) => state.status === 'background')
  return tasks.find(({ status }) => status === 'running')?.taskId ?? ''
}

const prompt = (session: SessionUnderTest, delivery: 'queue' | 'steer' = 'queue') =>
  session.command({ type: 'prompt.submit', text: 'Watch the build.', delivery })
const ended = async (session: SessionUnderTest) =>
  (await session.events('task.updated')).filter(({ status }) => status !== 'running')
async function expectStays({ session }: World): Promise<void> {
  await loopTurns(20)
  expect((await session.state()).connected).toBe(true)
}
const open = ({ agent }: World): FaultyConnection => agent.connections.at(-1)!
const ownTurn: AgentOutput = { type: 'turn.started', cause: { by: 'agent' } }

describe('background work', () => {
  it('without any output ends at the limit on silence', async () => {
    const made = await world()
    await prompt(made.session)
    await onlyTask(made.session)
    made.under.time.advance(limits.backgroundMs - 1)
    await expectStays(made)
    made.under.time.advance(1)
    await made.session.when(({ connected }) => !connected)
    expect(await ended(made.session)).toMatchObject([{ status: 'stopped', reason: 'limit' }])
  })

  it('that never stops reporting ends at the limit on its total time, and releases its slot to another session', async () => {
    const made = await world()
    await prompt(made.session)
    await made.reportsFor(55)
    const other = await made.under.create()
    await prompt(other)
    expect((await other.state()).connected).toBe(false)
    made.under.time.advance(5 * minute)
    await made.session.when(({ connected }) => !connected)
    expect(await ended(made.session)).toMatchObject([{ status: 'stopped', reason: 'limit' }])
    expect((await made.session.state()).status).toBe('idle')
    await other.when(({ connected }) => connected)
  })

  it('has its total time counted from the end of the last turn that a prompt started', async () => {
    const made = await world()
    await prompt(made.session)
    await made.reportsFor(55)
    await made.says(ownTurn)
    await prompt(made.session)
    made.under.time.advance(50 * minute)
    open(made).endTurn()
    const { tasks } = await made.session.when(({ turns, turn }) => turns === 3 && !turn)
    await made.reportsFor(55, tasks.at(-1)?.taskId)
    await expectStays(made)
    made.under.time.advance(5 * minute)
    await made.session.when(({ connected }) => !connected)
    expect(await ended(made.session)).toHaveLength(2)
  })

  it('has its total time counted over the turns that the agent starts by itself, but not over time without work', async () => {
    const made = await world()
    await prompt(made.session)
    const first = await onlyTask(made.session)
    await made.reportsFor(30, first)
    await made.says({ ...running(first), status: 'completed' } as AgentOutput)
    made.under.time.advance(9 * minute)
    await made.says(ownTurn, running('second'))
    made.under.time.advance(20 * minute)
    open(made).endTurn()
    await made.session.when(({ turn }) => !turn)
    await made.reportsFor(5, 'second')
    made.under.time.advance(5 * minute - 1)
    await expectStays(made)
    made.under.time.advance(1)
    await made.session.when(({ connected }) => !connected)
    expect((await ended(made.session)).at(-1)).toMatchObject({ taskId: 'second', reason: 'limit' })
  })

  it('fails a turn of the agent that does not end, with the limit as the reason', async () => {
    const made = await world()
    await prompt(made.session)
    await onlyTask(made.session)
    await made.says(ownTurn)
    made.under.time.advance(60 * minute)
    await made.session.when(({ connected }) => !connected)
    expect((await made.session.events('turn.ended')).at(-1)).toMatchObject({
      outcome: 'failed',
      stopReason: 'background_limit',
      error: { message: expect.stringContaining('backgroundTotalMs') },
    })
    await prompt(made.session)
    await until(() => made.agent.connections.length === 2)
    await made.session.when(({ status }) => status === 'background')
  })

  it('has its total time reset to zero when a person steers a turn of the agent', async () => {
    const made = await world()
    await prompt(made.session)
    await onlyTask(made.session)
    await made.says(ownTurn)
    made.under.time.advance(59 * minute)
    await prompt(made.session, 'steer')
    made.under.time.advance(59 * minute)
    await expectStays(made)
    open(made).endTurn()
    await made.session.when(({ turn }) => !turn)
  })

  it('at the limit parks a turn of the agent that asks a person', async () => {
    const made = await world()
    await prompt(made.session)
    await onlyTask(made.session)
    await made.says(ownTurn)
    void open(made).input.person.permit({ tool: 'Write', kind: 'edit', title: 'a', input: { path: 'a' } })
    await made.session.when(({ requests }) => requests.length === 1)
    made.under.time.advance(60 * minute)
    expect(await made.session.when(({ connected }) => !connected)).toMatchObject({
      status: 'parked',
      turn: { parked: 'waited-long' },
      requests: [{ stale: true }],
    })
    expect(await ended(made.session)).toMatchObject([{ status: 'stopped', reason: 'limit' }])
  })
})
