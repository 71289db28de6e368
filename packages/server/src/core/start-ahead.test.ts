import { ParleyError } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { type FaultyAgent, faultyAgent, until } from './faulty-agent-under-test.ts'
import { type HostUnderTestOptions, hostUnderTest } from './host-under-test.ts'

/** A host with an agent that is started before it is needed. */
async function world(agent: FaultyAgent, options: HostUnderTestOptions = {}) {
  const made = await hostUnderTest({
    ...options,
    adapter: (scripted) => ({ ...agent.adapter(scripted), startsAhead: true }),
  })
  onTestFinished(async () => {
    await made[Symbol.asyncDispose]()
    expect(agent.open).toBe(0)
  })
  return made
}

const answering = () =>
  faultyAgent((connection) => ({
    async send() {
      connection.endTurn()
    },
  }))

it('starts the agent of a new session before its first prompt, and uses that connection', async () => {
  const agent = answering()
  const { create, time } = await world(agent, { limits: { idleCloseMs: 1_000 } })
  const session = await create()
  await session.when(({ connected }) => connected)
  expect(agent.texts).toEqual([])
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await session.when(({ turns }) => turns === 1)
  expect(agent.connections).toHaveLength(1)
  await until(() => {
    time.advance(2_000)
    return agent.open === 0
  })
})

it('closes an agent that was started but not used when it is idle too long', async () => {
  const agent = answering()
  const { create, time } = await world(agent, { limits: { idleCloseMs: 1_000 } })
  const session = await create()
  await session.when(({ connected }) => connected)
  await until(() => {
    time.advance(2_000)
    return agent.open === 0
  })
  expect(agent.closed).toBe(1)
})

it('takes no slot from another session', async () => {
  const agent = answering()
  const { create } = await world(agent, { limits: { maxConnections: 1 } })
  const first = await create()
  await first.when(({ connected }) => connected)
  const second = await create()
  await second.command({ type: 'prompt.submit', text: 'hello' })
  await second.when(({ turns }) => turns === 1)
  expect(agent.connections).toHaveLength(2)
  expect(agent.closed).toBe(1)
})

it('passes a prompt that is submitted during the start to the agent that is starting', async () => {
  const ready = Promise.withResolvers<object>()
  const agent = faultyAgent((connection) =>
    ready.promise.then(() => ({
      async send() {
        connection.endTurn()
      },
    })),
  )
  const { create } = await world(agent)
  const session = await create()
  await until(() => agent.connections.length === 1)
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await session.when(({ turn }) => turn !== undefined)
  ready.resolve({})
  await session.when(({ turns }) => turns === 1)
  expect(agent.connections).toHaveLength(1)
})

it('ends a turn at once if it is cancelled while it waits for the start', async () => {
  const agent = faultyAgent(() => new Promise<never>(() => undefined))
  const { create } = await world(agent)
  const session = await create()
  await until(() => agent.connections.length === 1)
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await session.when(({ turn }) => turn !== undefined)
  await session.command({ type: 'turn.cancel' })
  await session.when(({ turns }) => turns === 1)
  expect((await session.state()).lastTurn).toMatchObject({ outcome: 'cancelled' })
})

it('starts the agent of a fork when the fork is created, and closes the agent when it is idle', async () => {
  const agent = faultyAgent(
    (connection) => {
      connection.say({ type: 'agent.connected', agentSessionId: `own-${connection.number}` })
      return {
        async send() {
          connection.endTurn()
        },
      }
    },
    ['resume', 'fork'],
  )
  const { create, host, time } = await world(agent, { limits: { idleCloseMs: 1_000 } })
  const session = await create()
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await session.when(({ turns }) => turns === 1)
  const { sessionId = '' } = await session.command({ type: 'session.fork' })
  await until(() => agent.connections.length === 2)
  expect(agent.connections[1]?.input.resume).toMatchObject({ fork: true })
  await until(() => {
    time.advance(2_000)
    return agent.open === 0
  })
  const { events } = await host.read(sessionId, { after: 0, limit: 100 })
  const reasons = events.map(({ json }) => JSON.parse(json)).flatMap(({ reason }) => reason ?? [])
  expect(reasons).not.toContain('server-killed')
})

it('reports why the agent could not be started, and tries again with the first prompt', async () => {
  let fails = true
  const agent = faultyAgent(async (connection) => {
    if (fails) throw new ParleyError('agent_not_signed_in', 'Sign in.')
    return {
      async send() {
        connection.endTurn()
      },
    }
  })
  const { create } = await world(agent)
  const session = await create()
  await session.when(({ seq }) => seq === 2)
  expect((await session.log()).at(-1)).toMatchObject({
    type: 'agent.disconnected',
    reason: 'failed-to-start',
    error: { code: 'agent_not_signed_in' },
  })
  fails = false
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await session.when(({ turns }) => turns === 1)
  expect((await session.state()).lastTurn).toMatchObject({ outcome: 'completed' })
})

it('leaves nothing open when the host stops during the start', async () => {
  const ready = Promise.withResolvers<object>()
  const agent = faultyAgent(() => ready.promise)
  const { create, host } = await world(agent)
  await create()
  await until(() => agent.connections.length === 1)
  const closed = host.close()
  ready.resolve({})
  await closed
  await until(() => agent.open === 0)
  expect(agent.closed).toBe(1)
})
