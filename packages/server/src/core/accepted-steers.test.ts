import { afterEach, describe, expect, it } from 'vitest'
import { logProblems } from '../testing/invariants.ts'
import { connectedAs, type FaultyAgent, faultyAgent, loopTurns } from './faulty-agent-under-test.ts'
import { type HostUnderTest, hostUnderTest, type SessionUnderTest } from './host-under-test.ts'

const write = { tool: 'Write', kind: 'edit' as const, title: 'Write a file', input: { path: 'a' } }

type World = {
  readonly agent: FaultyAgent
  readonly under: HostUnderTest
  readonly session: SessionUnderTest
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
 * A session with an open request and a steered prompt. Its agent accepts steered prompts and does not report when it
 * takes them up. The prompt `ask` makes the agent ask for a permission and then end its turn; any other prompt that
 * starts a turn is answered at once.
 */
async function asked(): Promise<World & { steered: string }> {
  const agent = faultyAgent((connection) => ({
    async send({ type, prompt }) {
      connection.say(connectedAs('odd'))
      const [part] = prompt.parts
      if (prompt.delivery === 'steer') return
      if (type === 'prompt' && part?.type === 'text' && part.text !== 'ask') return connection.endTurn()
      void connection.input.person.permit(write).then(() => connection.endTurn())
    },
  }))
  const under = await hostUnderTest({ adapter: agent.adapter })
  const session = await under.create()
  const made = { agent, under, session }
  worlds.push(made)
  await session.command({ type: 'prompt.submit', text: 'ask' })
  await session.when(({ requests }) => requests.length === 1)
  const { promptId: steered = '' } = await session.command({
    type: 'prompt.submit',
    text: 'to the left',
    delivery: 'steer',
  })
  await session.when(({ turn }) => turn?.steers?.length === 1)
  await loopTurns(20)
  return { ...made, steered }
}

describe('a steered prompt that an agent accepts while a person is asked', () => {
  it('is taken up when the agent continues, and does not run again', async () => {
    const { agent, session, steered } = await asked()
    expect(await session.events('prompt.taken')).toEqual([])
    await session.decide('allow')
    await session.idle()
    expect(await session.events('prompt.taken')).toMatchObject([{ promptId: steered }])
    expect(agent.texts).toEqual(['ask', 'to the left'])
    expect((await session.state()).turns).toBe(1)
  })

  it('starts the next turn if the process was lost before that', async () => {
    const { agent, session, steered } = await asked()
    agent.connections[0]?.end()
    await session.when(({ turn }) => turn?.parked === 'agent-lost')
    await session.decide('allow')
    await session.when(({ turns, turn }) => turns === 2 && !turn)
    expect(agent.connections.map(({ received }) => received.map(({ type }) => type))).toEqual([
      ['prompt', 'prompt'],
      ['continue', 'prompt'],
    ])
    expect((await session.events('turn.started')).at(-1)).toMatchObject({ promptId: steered })
  })
})

it('a steered prompt that an agent accepts while nobody is asked is taken up at once', async () => {
  const agent = faultyAgent(() => ({}))
  const under = await hostUnderTest({ adapter: agent.adapter })
  const session = await under.create()
  worlds.push({ agent, under, session })
  await session.command({ type: 'prompt.submit', text: 'work' })
  await session.when(({ turn, connected }) => !!turn && connected)
  await session.command({ type: 'prompt.submit', text: 'to the left', delivery: 'steer' })
  await session.when(({ turn }) => turn?.steers?.length === 0)
  expect(await session.events('prompt.taken')).toHaveLength(1)
  agent.connections[0]?.endTurn()
  await session.idle()
})
