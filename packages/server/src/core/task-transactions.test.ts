import { carriedAnswers, type EventDraft } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { andThen, called, running, stateAfter } from '../testing/state-after.ts'
import { endTurn } from './end-turn.ts'
import { recovery } from './recover.ts'
import { loseTasks, restartTask } from './task-transactions.ts'

const spawned: EventDraft = { ...called, toolCallId: 'spawn', kind: 'subagent' }
const task = {
  type: 'task.updated',
  taskId: 'task_1',
  toolCallId: 'spawn',
  title: 'look around',
  status: 'running',
  background: true,
} as const satisfies EventDraft
const inner: EventDraft = { ...called, turnId: undefined, toolCallId: 'inner', parentToolCallId: 'spawn' }
const asked: EventDraft = {
  type: 'permission.requested',
  requestId: 'req_task',
  toolCallId: 'inner',
  parentToolCallId: 'spawn',
  tool: 'Bash',
  kind: 'execute',
  title: 'rm -rf build',
  input: { command: 'rm -rf build' },
  inputHash: 'hash',
  readOnly: false,
  options: [],
}
const ended: EventDraft = {
  type: 'tool-call.ended',
  turnId: 'trn_1',
  toolCallId: 'spawn',
  outcome: 'completed',
  content: [],
}
const completed = { outcome: 'completed', stopReason: 'end_turn' } as const
const answer = (outcome: 'allowed' | 'denied'): EventDraft => ({
  type: 'permission.resolved',
  requestId: 'req_task',
  outcome,
  by: 'person',
})

const inTurn = andThen(running, spawned, task, ended, inner, asked)
const afterTurn = andThen(inTurn, ...endTurn(inTurn, completed, 10))
const parked = andThen(afterTurn, ...loseTasks(afterTurn, { reason: 'server-killed', park: 'server-killed' }))

describe('the end of a turn', () => {
  it('leaves the call and the request of a background task open', () => {
    expect(afterTurn.turn).toBeUndefined()
    expect(afterTurn.requests).toMatchObject([{ requestId: 'req_task', stale: false }])
    expect(afterTurn.openBlocks).toMatchObject([{ id: 'inner' }])
    expect(afterTurn.status).toBe('waiting')
  })

  it('is followed by the status background while a task runs and has no open request', () => {
    expect(andThen(afterTurn, answer('allowed')).status).toBe('background')
  })

  it('stops a task that is not in the background', () => {
    const state = andThen(running, spawned, { ...task, background: false })
    const drafts = endTurn(state, completed, 10)
    expect(drafts).toContainEqual(
      expect.objectContaining({ taskId: 'task_1', status: 'stopped', reason: 'turn-end' }),
    )
  })

  it('reports an answer that the resumed agent never asked for', () => {
    const resolution = { requestId: 'req_1', outcome: 'allowed', by: 'person' } as const
    const turn = { ...running.turn!, carried: [{ type: 'permission', inputHash: 'x', resolution }] as const }
    const drafts = endTurn({ ...running, turn: { ...turn, carried: [...turn.carried] } }, completed, 10)
    expect(drafts).toContainEqual(expect.objectContaining({ type: 'agent.noticed', code: 'answer_unused' }))
  })
})

describe('a steered prompt that its turn did not take up', () => {
  const steered = andThen(running, {
    type: 'prompt.submitted',
    turnId: 'trn_1',
    promptId: 'prm_2',
    parts: [{ type: 'text', text: 'to the left' }],
    delivery: 'steer',
  })

  it('is first in the queue when the turn ends by itself', () => {
    const state = andThen(steered, ...endTurn(steered, completed, 10))
    expect(state.queue).toMatchObject([{ promptId: 'prm_2' }])
    expect(state.queue[0]?.paused).toBeUndefined()
  })

  it('is paused when the turn is cancelled', () => {
    const stopped = andThen(steered, { type: 'turn.interrupted', turnId: 'trn_1', by: 'person' })
    const state = andThen(stopped, ...endTurn(stopped, { outcome: 'cancelled', stopReason: 'cancelled' }, 10))
    expect(state.queue).toMatchObject([{ promptId: 'prm_2', paused: true }])
  })

  it.each([
    { outcome: 'unknown', stopReason: 'server_killed' },
    { outcome: 'failed', stopReason: 'agent_lost' },
    { outcome: 'failed', stopReason: 'background_limit' },
  ] as const)('is paused when it is unknown whether the agent has it: $stopReason', (end) => {
    const state = andThen(steered, ...endTurn(steered, end, 10))
    expect(state.queue).toMatchObject([{ promptId: 'prm_2', paused: true }])
  })

  it('is paused when the server was killed before the agent took it up', () => {
    const { drafts } = recovery({ ...steered, turn: { ...steered.turn!, delivered: true } }, 10, {
      canResume: true,
    })
    expect(andThen(steered, ...drafts)).toMatchObject({
      status: 'idle',
      queue: [{ promptId: 'prm_2', paused: true }],
    })
  })

  it('stays with its turn once the agent has taken it up', () => {
    const taken = andThen(steered, { type: 'prompt.taken', turnId: 'trn_1', promptId: 'prm_2' })
    expect(andThen(taken, ...endTurn(taken, completed, 10)).queue).toEqual([])
  })
})

describe('a lost process', () => {
  it('ends a task without an open request, with the reason', () => {
    const state = andThen(afterTurn, answer('allowed'))
    const after = andThen(state, ...loseTasks(state, { reason: 'limit', park: 'waited-long' }))
    expect(after.tasks).toMatchObject([{ status: 'stopped', reason: 'limit' }])
    expect(after).toMatchObject({ status: 'idle', openBlocks: [] })
  })

  it('parks a task that waits for a person, and keeps its request', () => {
    expect(parked.tasks).toMatchObject([{ status: 'running', parked: 'server-killed' }])
    expect(parked).toMatchObject({ status: 'parked', requests: [{ stale: true }], openBlocks: [] })
  })

  it('cancels the request with the task if the agent cannot resume', () => {
    const after = andThen(afterTurn, ...loseTasks(afterTurn, { reason: 'agent-lost', park: undefined }))
    expect(after).toMatchObject({ status: 'idle', requests: [], tasks: [{ status: 'stopped' }] })
  })

  it('has the same outcome as a recovery', () => {
    const { drafts } = recovery(afterTurn, 10, { canResume: true })
    expect(andThen(afterTurn, ...drafts)).toMatchObject({ status: 'parked', requests: [{ stale: true }] })
  })
})

describe('a parked task', () => {
  const ids = { turnId: 'trn_9', promptId: 'prm_9' }

  it('waits as long as its request is open', () => {
    expect(restartTask(parked, ids).drafts).toEqual([])
  })

  it('is started again with the answer, in a turn that names it', () => {
    const answered = andThen(parked, answer('allowed'))
    const state = andThen(answered, ...restartTask(answered, ids).drafts)
    expect(state.turn).toMatchObject({
      cause: { by: 'task', taskId: 'task_1' },
      carried: [{ inputHash: 'hash', resolution: { outcome: 'allowed' } }],
    })
    expect(state.tasks).toMatchObject([{ status: 'stopped', reason: 'restarted' }])
  })

  it('passes an answer that the turn did not use to the task that the turn started', () => {
    const answered = andThen(parked, answer('allowed'))
    const again = { ...task, taskId: 'task_2', toolCallId: 'spawn_2' }
    const state = andThen(answered, ...restartTask(answered, ids).drafts, again)
    const drafts = endTurn(state, completed, 20)
    expect(drafts.map(({ type }) => type)).toEqual(['turn.ended'])
    expect(andThen(state, ...drafts).tasks.at(-1)).toMatchObject({
      taskId: 'task_2',
      carried: [{ inputHash: 'hash' }],
    })
  })

  it('does not pass the answer to another task that runs', () => {
    const answered = andThen(parked, answer('allowed'))
    const other = { ...task, taskId: 'task_3', toolCallId: 'spawn_3' }
    const again = { ...task, taskId: 'task_2', toolCallId: 'spawn_2' }
    const running = andThen(answered, other)
    const started = andThen(running, ...restartTask(running, ids).drafts, other)
    expect(carriedAnswers(started, { parentToolCallId: 'spawn_3' })).toEqual([])
    const drafts = endTurn(started, completed, 20)
    expect(drafts).toContainEqual(expect.objectContaining({ code: 'answer_unused' }))
    expect(andThen(started, ...drafts).tasks.flatMap(({ carried = [] }) => carried)).toEqual([])
    const state = andThen(started, again, other)
    expect(carriedAnswers(state, { parentToolCallId: 'spawn_2' })).toMatchObject([{ inputHash: 'hash' }])
    const after = andThen(state, ...endTurn(state, completed, 20))
    expect(after.tasks.map(({ taskId, carried = [] }) => [taskId, carried.length])).toEqual([
      ['task_1', 0],
      ['task_2', 1],
      ['task_3', 0],
    ])
  })

  it('ends when all its requests were denied', () => {
    const answered = andThen(parked, answer('denied'))
    const state = andThen(answered, ...restartTask(answered, ids).drafts)
    expect(state).toMatchObject({ status: 'idle', tasks: [{ status: 'stopped', reason: 'denied' }] })
  })
})

it('a session without tasks records nothing when its process is lost', () => {
  expect(loseTasks(stateAfter(), { reason: 'agent-lost', park: 'agent-lost' })).toEqual([])
})
