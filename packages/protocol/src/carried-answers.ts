import { backgroundTaskOf, runningInBackground } from './background.ts'
import type { EventOf } from './event.ts'
import type { Task } from './plan.ts'
import type { CarriedAnswer, KnownTask, OpenTurn, SessionState } from './session-state.ts'

/**
 * Carried answers in the state. If a person answers a request that no process waits for, the answer is stored with
 * the turn or the task that sent the request, until the resumed agent asks again.
 */

/**
 * The carried answers that apply to a request. They are the answers of the task that sent the request, and those of
 * the turn if the turn sent the request or started that task.
 */
export function carriedAnswers(
  state: SessionState,
  request: { readonly parentToolCallId?: string | undefined },
): readonly CarriedAnswer[] {
  const task = backgroundTaskOf(state, request)
  if (!task) return state.turn?.carried ?? []
  return [...(task.carried ?? []), ...(isStartedBy(state.turn, task) ? (state.turn?.carried ?? []) : [])]
}

/**
 * The task that inherits the unused answers of a turn. A turn that restarts a lost task may end before the task asks
 * again; the unused answers of the turn are then passed to the task.
 */
export function heirOfAnswers({ tasks, turn }: Pick<SessionState, 'tasks' | 'turn'>): KnownTask | undefined {
  if (turn?.cause?.by !== 'task') return undefined
  return runningInBackground({ tasks }).findLast((task) => isStartedBy(turn, task))
}

function isStartedBy(turn: OpenTurn | undefined, { taskId }: KnownTask): boolean {
  return turn?.startedTasks?.includes(taskId) ?? false
}

/**
 * If the turn has carried answers, adds a newly started task to `startedTasks` of the turn, because the answers may
 * be meant for that task.
 */
export function withStartedTask(
  { tasks, turn }: SessionState,
  { taskId, status }: Task,
): Partial<SessionState> {
  const ran = tasks.some((task) => task.taskId === taskId && task.status === 'running')
  if (!turn || turn.carried.length === 0 || ran || status !== 'running') return {}
  return { turn: { ...turn, startedTasks: [...(turn.startedTasks ?? []), taskId] } }
}

/**
 * Folds the resolution of a request. The answer to a stale request is added to the carried answers. A
 * resolution that used a carried answer removes that answer.
 */
export function withCarried(
  state: SessionState,
  event: EventOf<'permission.resolved'> | EventOf<'question.resolved'>,
): Partial<SessionState> {
  if (event.carriedFrom) return withoutAnswer(state, event.carriedFrom)
  const request = state.requests.find((open) => open.requestId === event.requestId)
  if (!request?.stale) return {}
  const { seq, at, sessionId, salt, turnId, type, version, ...resolution } = event
  const answer = (
    request.type === 'permission'
      ? { type: 'permission', inputHash: request.inputHash, resolution }
      : { type: 'question', questions: request.questions, resolution }
  ) as CarriedAnswer
  const owner = backgroundTaskOf(state, request)
  if (owner) return { tasks: withAnswers(state.tasks, owner, [answer]) }
  return state.turn ? { turn: { ...state.turn, carried: [...state.turn.carried, answer] } } : {}
}

function withoutAnswer({ turn, tasks }: SessionState, requestId: string): Partial<SessionState> {
  const left = (answers: readonly CarriedAnswer[]) =>
    answers.filter((answer) => answer.resolution.requestId !== requestId)
  return {
    ...(turn && { turn: { ...turn, carried: left(turn.carried) } }),
    tasks: tasks.map((task) => (task.carried ? { ...task, carried: left(task.carried) } : task)),
  }
}

/** Called at the end of a turn. Passes the unused answers of the turn to the task that the turn started. */
export function withInherited(state: SessionState): Partial<SessionState> {
  const heir = heirOfAnswers(state)
  const answers = state.turn?.carried ?? []
  return heir && answers.length > 0 ? { tasks: withAnswers(state.tasks, heir, answers) } : {}
}

/**
 * Called when a turn starts a lost task again: removes the carried answers from the task, because the turn
 * takes them over.
 */
export function withoutCarried(tasks: readonly KnownTask[], restarted: KnownTask): KnownTask[] {
  const { carried, ...rest } = restarted
  return tasks.map((task) => (task === restarted ? rest : task))
}

function withAnswers(
  tasks: readonly KnownTask[],
  owner: KnownTask,
  answers: readonly CarriedAnswer[],
): KnownTask[] {
  const task = { ...owner, carried: [...(owner.carried ?? []), ...answers] }
  return tasks.map((one) => (one === owner ? task : one))
}
