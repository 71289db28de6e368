import { expect, it, onTestFinished } from 'vitest'
import { connectedAs, faultyAgent, until } from './faulty-agent-under-test.ts'
import { hostUnderTest } from './host-under-test.ts'

const write = { tool: 'Write', kind: 'edit' as const, title: 'Write a file', input: { path: 'a' } }

/**
 * A session whose request was allowed after a restart, and whose agent has not asked again. The first connection ends
 * while the request is open, the second is silent, and the third asks again.
 */
async function answeredWhileDisconnected() {
  const answers: unknown[] = []
  const asks = Promise.withResolvers<void>()
  const agent = faultyAgent((connection) => {
    connection.say(connectedAs('own'))
    return {
      async send() {
        if (connection.number === 1) return
        void connection.input.person.permit(write).then((answer) => {
          if (connection.number === 0) return
          answers.push(answer)
          connection.endTurn()
        })
        asks.resolve()
      },
    }
  })
  const world = await hostUnderTest({ adapter: agent.adapter })
  onTestFinished(() => world[Symbol.asyncDispose]())
  const session = await world.create()
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await asks.promise
  const { requests } = await session.when((state) => state.requests.length === 1)
  await world.restart()
  const { requestId = '' } = requests[0] ?? {}
  await session.command({ type: 'permission.decide', requestId, decision: 'allow' })
  await until(() => agent.connections[1]?.received.length === 1)
  return { world, session, agent, answers }
}

it('an answer survives a second stop before its agent has received it, and applies once', async () => {
  const { world, session, agent, answers } = await answeredWhileDisconnected()
  await world.restart()
  await session.when(({ turns }) => turns === 1)
  expect(answers).toMatchObject([{ outcome: 'allowed' }])
  expect(agent.connections.map(({ received }) => received.map(({ type }) => type))).toEqual([
    ['prompt'],
    ['continue'],
    ['continue'],
  ])
  expect((await session.state()).lastTurn).toMatchObject({ outcome: 'completed' })
})

it('a carried answer that allows a call is void once the mode refuses the call', async () => {
  const { world, session, answers } = await answeredWhileDisconnected()
  await session.command({ type: 'session.configure', mode: 'read-only' })
  await world.restart()
  await session.when(({ turns }) => turns === 1)
  expect(answers).toMatchObject([{ outcome: 'denied', message: 'This session is read-only.' }])
})

it('a resumed agent gets the calls of its turn that have no result', async () => {
  const call = (toolCallId: string, parent: { parentToolCallId?: string } = {}) =>
    ({
      type: 'tool-call.called',
      toolCallId,
      name: 'Write',
      kind: 'edit',
      title: `Write ${toolCallId}`,
      input: {},
      ...parent,
    }) as const
  const agent = faultyAgent((connection) => {
    connection.say(connectedAs('own'))
    return {
      async send() {
        if (connection.number > 0) return connection.endTurn()
        connection.say(
          call('first'),
          { type: 'tool-call.ended', toolCallId: 'first', outcome: 'completed', content: [] },
          call('second'),
          call('inner', { parentToolCallId: 'second' }),
        )
        void connection.input.person.permit({ ...write, toolCallId: 'second' })
      },
    }
  })
  await using world = await hostUnderTest({ adapter: agent.adapter })
  const session = await world.create()
  await session.command({ type: 'prompt.submit', text: 'hello' })
  await session.when(({ requests, openBlocks }) => requests.length === 1 && openBlocks.length === 2)
  await world.restart()
  await session.decide('allow')
  await session.when(({ turns }) => turns === 1)
  expect(agent.connections[1]?.received).toMatchObject([
    { type: 'continue', openCalls: [{ toolCallId: 'second', name: 'Write', title: 'Write second' }] },
  ])
})
