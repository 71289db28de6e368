import type {
  AgentAdapter,
  AgentConnection,
  AgentOutput,
  PermissionAsk,
  Remembered,
} from '@parley/adapter-kit'
import { type CapabilityName, ParleyError, promptText } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { logProblems } from '../testing/invariants.ts'
import { connectedAs, faultyAgent, loopTurns, until } from './faulty-agent-under-test.ts'
import { hostUnderTest } from './host-under-test.ts'
import { differenceOf, type RecordedTurn } from './outside-turns.ts'

const limits = { parkAfterMs: 1_000 }
const make: PermissionAsk = { tool: 'Bash', kind: 'execute', title: 'make', input: { command: 'make' } }
const work = { toolCallId: 'spawn', title: 'look around' }
const spawned: AgentOutput = {
  type: 'tool-call.called',
  name: 'Task',
  kind: 'subagent',
  input: {},
  ...work,
}
const task: AgentOutput = {
  type: 'task.updated',
  taskId: 'task_1',
  status: 'running',
  background: true,
  ...work,
}

/** An agent that stores its own record, to which other programs may add. */
async function world(can: readonly CapabilityName[] = ['resume', 'rejoin']) {
  const record: Remembered[] = []
  const elsewhere = (id: string) => {
    record.push({ type: 'prompt', id, at: 1, parts: [{ type: 'text', text: id }] })
    record.push({
      type: 'output',
      at: 2,
      output: { type: 'text.written', blockId: `b-${id}`, text: `heard ${id}` },
    })
  }
  const news: Awaited<ReturnType<NonNullable<AgentConnection['outsideMessages']>>>[] = []
  const problems: (Error | Promise<Error>)[] = []
  const agent = faultyAgent(async (connection) => {
    const failure = await problems.shift()
    if (failure) throw failure
    connection.say(connectedAs('own'))
    return {
      async send({ type, prompt }) {
        if (type === 'continue') return connection.endTurn()
        record.push({ type: 'prompt', id: prompt.promptId, at: 1, parts: prompt.parts })
        connection.say({ type: 'text.written', blockId: prompt.promptId, text: 'heard' })
        const text = promptText(prompt.parts)
        if (text === 'ask') return void connection.input.person.permit(make)
        if (text === 'look around') connection.say(spawned, task)
        connection.endTurn()
      },
    }
  }, can)
  const reading: { failure?: Error; meanwhile?: () => Promise<unknown> } = {}
  const adapter = (scripted: AgentAdapter): AgentAdapter => {
    const odd = agent.adapter(scripted)
    return {
      ...odd,
      conversations: {
        list: async () => [],
        async *read() {
          if (reading.failure) throw reading.failure
          await reading.meanwhile?.()
          yield* record
        },
      },
      connect: async (input) => ({
        ...(await odd.connect(input)),
        outsideMessages: async () => news.shift() ?? 'nothing',
      }),
    }
  }
  const made = await hostUnderTest({ adapter, limits })
  onTestFinished(() => made[Symbol.asyncDispose]())
  const session = await made.create()
  const say = async (text: string) => {
    const { promptId } = await session.command({ type: 'prompt.submit', text })
    await session.when(
      ({ turn, queue, heard }) => !turn && queue.length === 0 && heard?.at(-1)?.promptId === promptId,
    )
  }
  const said = async () => {
    expect(logProblems(await session.log())).toEqual([])
    const prompts = await session.events('prompt.submitted')
    const order = (await session.events('turn.started')).map(({ promptId }) => promptId)
    return order.map((id) => promptText(prompts.find(({ promptId }) => promptId === id)?.parts ?? []))
  }
  const notices = async () =>
    (await session.events('agent.noticed')).map(({ level, code }) => `${level} ${code}`)
  const release = () => session.command({ type: 'session.release' })
  const { time } = made
  return {
    time,
    agent,
    session,
    say,
    said,
    notices,
    release,
    elsewhere,
    news,
    record,
    reading,
    problems,
  }
}

it('records outside messages once, before the next turn after a release', async () => {
  const { agent, session, say, said, notices, release, elsewhere } = await world()
  await say('one')
  await release()
  expect((await session.state()).released).toBeDefined()
  expect(agent.open).toBe(0)
  elsewhere('two')
  elsewhere('three')
  await say('four')
  await release()
  await say('five')
  expect(await said()).toEqual(['one', 'two', 'three', 'four', 'five'])
  expect(await notices()).toEqual(['info outside-turns'])
  const outside = (await session.events('prompt.submitted')).filter((event) => event.outside)
  expect(outside.map((event) => event.outside)).toEqual([
    { id: 'two', at: 1 },
    { id: 'three', at: 1 },
  ])
  expect(await session.texts()).toEqual(['heard', 'heard two', 'heard three', 'heard', 'heard'])
})

it('restarts a connected agent that has not read the outside messages', async () => {
  const { agent, say, said, elsewhere, news } = await world()
  await say('one')
  elsewhere('two')
  news.push('unknown')
  await say('three')
  expect(await said()).toEqual(['one', 'two', 'three'])
  expect(agent.connections).toHaveLength(2)
})

it('keeps a connected agent that has read the outside messages', async () => {
  const { agent, say, said, elsewhere, news } = await world()
  await say('one')
  elsewhere('two')
  news.push('known')
  await say('three')
  expect(await said()).toEqual(['one', 'two', 'three'])
  expect(agent.connections).toHaveLength(1)
})

it('reports that the agent no longer remembers prompts when the conversation continued from an earlier point', async () => {
  const { say, said, notices, release, elsewhere, record } = await world()
  await say('one')
  await say('two')
  await release()
  record.splice(1)
  elsewhere('another two')
  await say('three')
  expect(await said()).toEqual(['one', 'two', 'another two', 'three'])
  expect(await notices()).toEqual(['warning outside-branch', 'info outside-turns'])
})

it('continues with a notice when the record cannot be read', async () => {
  const { say, said, notices, release, reading } = await world()
  await say('one')
  await release()
  reading.failure = new Error('No disk.')
  await say('two')
  expect(await said()).toEqual(['one', 'two'])
  expect(await notices()).toEqual(['warning outside-unknown'])
})

it('warns after a release that the outside messages of an agent without a record are not shown', async () => {
  const { say, said, notices, release } = await world(['resume'])
  await say('one')
  await release()
  await say('two')
  await say('three')
  expect(await said()).toEqual(['one', 'two', 'three'])
  expect(await notices()).toEqual(['warning outside-unknown'])
})

it('fails the turn, once, if the agent cannot be started to read its record', async () => {
  const { agent, session, say, release, problems } = await world()
  await say('one')
  await release()
  problems.push(new ParleyError('agent_not_signed_in', 'Not signed in.'))
  await say('two')
  expect((await session.state()).lastTurn).toMatchObject({
    outcome: 'failed',
    error: { code: 'agent_not_signed_in' },
  })
  expect(agent.connections).toHaveLength(2)
})

it('reads the record before the next prompt if the prompt that required it was withdrawn', async () => {
  const { agent, session, say, said, release, elsewhere, problems } = await world()
  await say('one')
  await release()
  elsewhere('two')
  const failing = Promise.withResolvers<Error>()
  problems.push(failing.promise)
  const { promptId = '' } = await session.command({ type: 'prompt.submit', text: 'three' })
  await until(() => agent.connections.length === 2)
  await session.command({ type: 'prompt.withdraw', promptId })
  failing.resolve(new ParleyError('agent_not_signed_in', 'Not signed in.'))
  await loopTurns(20)
  await say('four')
  expect(await said()).toEqual(['one', 'two', 'four'])
})

it('records outside messages after a turn that the agent begins while its record is read', async () => {
  const { agent, session, said, notices, say, release, elsewhere, reading } = await world()
  await say('one')
  await release()
  elsewhere('two')
  elsewhere('three')
  reading.meanwhile = async () => {
    delete reading.meanwhile
    agent.connections[1]?.say({ type: 'turn.started' })
    await session.when(({ turn }) => turn !== undefined)
  }
  await session.command({ type: 'prompt.submit', text: 'four' })
  await session.when(({ turn }) => turn?.cause?.by === 'agent')
  await loopTurns(20)
  expect(await notices()).toEqual([])
  agent.connections[1]?.endTurn()
  await session.when(({ turn, queue }) => !turn && queue.length === 0)
  expect(await said()).toEqual(['one', '', 'two', 'three', 'four'])
  expect(await notices()).toEqual(['info outside-turns'])
})

const asking = ['permissions', 'resume', 'rejoin'] as const

it('records outside messages before the turn that starts a parked background task again', async () => {
  const { time, agent, session, said, say, elsewhere } = await world(asking)
  await say('look around')
  void agent.connections[0]?.input.person.permit({ ...make, parentToolCallId: 'spawn' })
  await session.when(({ requests }) => requests.length === 1)
  time.advance(limits.parkAfterMs)
  await session.when(({ tasks, connected }) => tasks[0]?.parked !== undefined && !connected)
  elsewhere('two')
  await session.decide('allow')
  await session.when(({ turn, tasks }) => !turn && tasks[0]?.status === 'stopped')
  expect(await said()).toEqual(['look around', 'two', expect.stringContaining('Start the task again')])
})

it('does not start the agent to read its record if the request of a parked background task is denied', async () => {
  const { time, agent, session, say } = await world(asking)
  await say('look around')
  void agent.connections[0]?.input.person.permit({ ...make, parentToolCallId: 'spawn' })
  await session.when(({ requests }) => requests.length === 1)
  time.advance(limits.parkAfterMs)
  await session.when(({ tasks, connected }) => tasks[0]?.parked !== undefined && !connected)
  await session.decide('deny')
  await session.when(({ tasks }) => tasks[0]?.status === 'stopped')
  await loopTurns(20)
  expect(agent.connections).toHaveLength(1)
})

it('records outside messages after a turn that was parked in the meantime', async () => {
  const { time, session, said, say, elsewhere } = await world(asking)
  await session.command({ type: 'prompt.submit', text: 'ask' })
  await session.when(({ requests }) => requests.length === 1)
  time.advance(limits.parkAfterMs)
  await session.when(({ turn, connected }) => turn?.parked !== undefined && !connected)
  elsewhere('two')
  await session.decide('allow')
  await session.when(({ turn }) => !turn)
  await say('three')
  expect(await said()).toEqual(['ask', 'two', 'three'])
})

it('refuses to release the conversation of an agent that cannot resume', async () => {
  const { session, release } = await world(['streaming'])
  await expect(release()).rejects.toMatchObject({ code: 'not_supported' })
  expect(await session.events('session.released')).toEqual([])
})

const turn = (id: string, at = 1, own?: true): RecordedTurn => ({
  prompt: { type: 'prompt', id, at, parts: [{ type: 'text', text: id }], ...(own && { own }) },
  outputs: [],
})
const ids = (turns: readonly RecordedTurn[]) => turns.map(({ prompt }) => prompt.id)

it('finds new prompts between known ones, and ignores prompts that the adapter itself sent', () => {
  const record = [turn('old'), turn('a'), turn('x'), turn('again', 1, true), turn('b'), turn('y')]
  const { turns, forgotten } = differenceOf(record, ['a', 'b'], 0)
  expect([ids(turns), forgotten]).toEqual([['x', 'y'], 0])
})

it('compares by time if the record contains no known prompt', () => {
  const { turns, forgotten } = differenceOf([turn('before', 5), turn('after', 15)], ['gone'], 10)
  expect([ids(turns), forgotten]).toEqual([['after'], 0])
})
