import {
  backgroundTaskOf,
  type DraftOf,
  type EventDraft,
  isInBackground,
  type KnownTask,
  type OpenRequest,
  type ParkReason,
  type SessionState,
  type Task,
} from '@parley/protocol'
import { hasUsableAnswer, unusedAnswers } from './carried-answers.ts'
import { cancelRequests, endCalls, writeText } from './end-turn.ts'
import type { Transaction } from './session-log.ts'

/**
 * The transactions that a live session records by itself for background tasks. They are pure, and empty if the state
 * has changed meanwhile.
 */

export function requestsOfTask(state: SessionState, { taskId }: Pick<Task, 'taskId'>): OpenRequest[] {
  return state.requests.filter((request) => backgroundTaskOf(state, request)?.taskId === taskId)
}

/** True if every background task waits for a person. No process is needed until there is an answer. */
export function allTasksWait(state: SessionState): boolean {
  return state.tasks
    .filter((task) => isInBackground(task) && !task.parked)
    .every((task) => requestsOfTask(state, task).length > 0)
}

/**
 * Closes the open blocks, calls and requests of a task before its end is recorded. The streamed part of each block is
 * written.
 */
export function closeTask(state: SessionState, task: Pick<Task, 'taskId'>, text: string): EventDraft[] {
  const requests = requestsOfTask(state, task).map(({ turnId, ...request }) => request as OpenRequest)
  const { carried = [] } = state.tasks.find(({ taskId }) => taskId === task.taskId) ?? {}
  return [
    ...closeBlocks(state, task, text),
    ...cancelRequests(requests, 'task-end'),
    ...unusedAnswers(carried),
  ]
}

function closeBlocks(state: SessionState, { taskId }: Pick<Task, 'taskId'>, text: string): EventDraft[] {
  const blocks = state.openBlocks.filter((block) => backgroundTaskOf(state, block)?.taskId === taskId)
  return [...writeText(blocks), ...endCalls(blocks, 'cancelled', text)].map(
    ({ turnId, ...draft }) => draft as EventDraft,
  )
}

/**
 * Ends every background task, because the process of the agent has ended. A task that waits for a person is parked
 * instead if the agent can resume, and its request remains open. Requests outside any turn and any task are closed,
 * because they can no longer be answered.
 */
export function loseTasks(
  state: SessionState,
  lost: { reason: NonNullable<Task['reason']>; park: ParkReason | undefined },
): EventDraft[] {
  const tasks = state.tasks.filter((task) => isInBackground(task) && !task.parked)
  const ended = tasks.flatMap((task): EventDraft[] => {
    const waits = requestsOfTask(state, task).length > 0 || (task.carried ?? []).length > 0
    if (lost.park && waits) {
      const text = 'The process of the task ended; when the task continues, it will request this call again.'
      return [...closeBlocks(state, task, text), updated(task, { parked: lost.park })]
    }
    const text = 'The process of the task ended; whether this call had an effect is unknown.'
    return [...closeTask(state, task, text), stopped(task, lost.reason)]
  })
  return [...ended, ...closeStray(state)]
}

/** Closes the blocks, calls and requests that belong to no turn and no task. */
function closeStray(state: SessionState): EventDraft[] {
  const isStray = (one: { turnId?: string | undefined; parentToolCallId?: string | undefined }) =>
    one.turnId === undefined && !backgroundTaskOf(state, one)
  const blocks = state.openBlocks.filter(isStray)
  return [
    ...writeText(blocks),
    ...endCalls(blocks, 'cancelled', 'The process of the agent ended before this call had a result.'),
    ...cancelRequests(state.requests.filter(isStray), 'task-end'),
  ]
}

export function stopped(task: KnownTask, reason: NonNullable<Task['reason']>): EventDraft {
  const { parked, ...rest } = task
  return updated(rest, { status: 'stopped', reason })
}

function updated({ carried, ...task }: KnownTask, change: Partial<Task>): DraftOf<'task.updated'> {
  return { type: 'task.updated', ...task, ...change }
}

/** The first parked task whose requests are all answered. */
export function answeredTask(state: SessionState): KnownTask | undefined {
  return state.tasks.find(
    (task) => task.parked && isInBackground(task) && requestsOfTask(state, task).length === 0,
  )
}

/**
 * Restarts the first parked task whose requests are all answered: the agent is asked, in a new turn, to start the task
 * again, and gets the answers when it asks again. If nothing was allowed or answered, the task ends instead.
 */
export function restartTask(state: SessionState, ids: { turnId: string; promptId: string }): Transaction {
  const task = answeredTask(state)
  if (!task || state.turn) return { drafts: [] }
  const { taskId, title } = task
  if (!hasUsableAnswer(task)) return { drafts: [stopped(task, 'denied')] }
  const { turnId, promptId } = ids
  const parts = [{ type: 'text' as const, text: startAgainText(task) }]
  return {
    drafts: [
      { type: 'prompt.submitted', promptId, parts, delivery: 'queue', by: 'host' },
      { type: 'turn.started', turnId, promptId, cause: { by: 'task', taskId, title } },
      stopped(task, 'restarted'),
    ],
  }
}

function startAgainText({ title }: KnownTask): string {
  return `Parley was restarted while the background task "${title}" waited for an answer, and the task was lost. The request has been answered now. Start the task again with the same instructions: call the same tool again with the same input.`
}
