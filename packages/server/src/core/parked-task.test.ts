import type { AgentOutput } from '@parley/adapter-kit'
import { describe, expect, it } from 'vitest'
import { logProblems } from '../testing/invariants.ts'
import { connectedAs, faultyAgent, loopTurns, until } from './faulty-agent-under-test.ts'
import { hostUnderTest } from './host-under-test.ts'

const limits = { parkAfterMs: 1_000, unloadMs: 2_000, expireAfterMs: 60_000 }

const spawned: AgentOutput = {
  type: 'tool-call.called',
  toolCallId: 'spawn',
  name: 'Task',
  kind: 'subagent',
  title: 'look around',
  input: {},
}
const task: AgentOutput = {
  type: 'task.updated',
  taskId: 'task_1',
  toolCallId: 'spawn',
  title: 'look around',
  status: 'running',
  background: true,
}

const ended: AgentOutput = { ...task, status: 'stopped' }

/**
 * A session whose task has asked and was parked. The resumed agent reports that the task has ended, and leaves its
 * turn open.
 */
async function parked() {
  const agent = faultyAgent((connection) => ({
    async send() {
      connection.say(connectedAs('odd'))
      if (connection.number > 0) return connection.say(ended)
      connection.say(spawned, task)
      connection.endTurn()
    },
  }))
  const under = await hostUnderTest({ limits, adapter: agent.adapter })
  const session = await under.create()
  await session.command({ type: 'prompt.submit', text: 'Look around.' })
  await session.when(({ turns, turn }) => turns === 1 && !turn)
  void agent.connections[0]!.input.person.permit({
    tool: 'Bash',
    kind: 'execute',
    title: 'make',
    input: { command: 'make' },
    parentToolCallId: 'spawn',
  })
  await session.when(({ requests }) => requests.length === 1)
  under.time.advance(limits.parkAfterMs)
  await session.when(({ tasks, connected }) => tasks[0]?.parked !== undefined && !connected)
  return { agent, under, session }
}

describe('a background task that waits for a person without a process', () => {
  it('keeps waiting while a prompt runs, and the agent of that prompt stays connected', async () => {
    const { agent, under, session } = await parked()
    await using _ = under
    await session.command({ type: 'prompt.submit', text: 'Something else.' })
    await until(() => agent.connections[1]?.received.length === 1)
    await loopTurns(20)
    agent.connections[1]?.endTurn()
    await session.when(({ turns, turn }) => turns === 2 && !turn)
    under.time.advance(1)
    await loopTurns(20)
    expect(await session.state()).toMatchObject({
      status: 'parked',
      connected: true,
      requests: [{ stale: true }],
      tasks: [{ taskId: 'task_1', status: 'running', parked: 'waited-long' }],
    })
    await session.decide('allow')
    await session.when(({ turn }) => turn?.cause?.by === 'task')
    await until(() => agent.connections[1]?.received.length === 2)
    expect(agent.connections).toHaveLength(2)
    expect(logProblems(await session.log())).toEqual([])
  })

  it('keeps its session in memory: its request expires once, and an answer given in time stays valid', async () => {
    const { agent, under, session } = await parked()
    await using _ = under
    for (let sweep = 0; sweep < 3; sweep++) {
      under.time.advance(limits.unloadMs)
      await loopTurns(5)
    }

    await session.decide('allow')
    await until(() => agent.texts.length === 2)
    under.time.advance(limits.expireAfterMs)
    await loopTurns(20)
    expect(under.problems).toEqual([])
    expect((await session.state()).turn).toMatchObject({ cause: { by: 'task', taskId: 'task_1' } })
    expect(await session.events('turn.ended')).toHaveLength(1)
    expect(logProblems(await session.log())).toEqual([])
  })
})
