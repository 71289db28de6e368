import { noOutput, sequence } from '@parley/adapter-kit/translation'
import { isRecord, type PlanEntry, type Task } from '@parley/protocol'
import type { NativeMessage, NativeToolOutput } from './native.ts'
import { type Call, callIdOf, type TranslateState, type Translation } from './translate-state.ts'

/** Reports that a subagent or command was started. Internal tasks of the agent are not reported. */
export function startTask(state: TranslateState, message: NativeMessage<'system/task_started'>): Translation {
  if (message.skip_transcript) return noOutput(state)
  const { task_id, tool_use_id, description, is_backgrounded, parent_task_id } = message
  const parent = parent_task_id ? state.tasks[parent_task_id]?.toolCallId : undefined
  return reportTask(state, {
    taskId: task_id,
    title: description,
    status: 'running',
    ...(tool_use_id && { toolCallId: callIdOf(state, tool_use_id) }),
    ...(parent && { parentToolCallId: parent }),
    ...(is_backgrounded !== undefined && { background: is_backgrounded }),
  })
}

export function updateTask(
  state: TranslateState,
  { task_id, patch }: NativeMessage<'system/task_updated'>,
): Translation {
  const task = state.tasks[task_id]
  if (!task) return noOutput(state)
  const status = patch.status ? taskStatus[patch.status] : task.status
  return reportTask(state, {
    ...task,
    status: status ?? task.status,
    ...(patch.description && { title: patch.description }),
    ...(patch.is_backgrounded !== undefined && { background: patch.is_backgrounded }),
    ...(patch.error && { summary: patch.error }),
  })
}

/** Reports a task if it has a new summary. The counters that come with every step are not reported. */
export function progressTask(
  state: TranslateState,
  { task_id, summary }: NativeMessage<'system/task_progress'>,
): Translation {
  const task = state.tasks[task_id]
  return task && summary ? reportTask(state, { ...task, summary }) : noOutput(state)
}

export function endTask(
  state: TranslateState,
  message: NativeMessage<'system/task_notification'>,
): Translation {
  const { task_id, tool_use_id, status, summary, skip_transcript } = message
  if (skip_transcript) return noOutput(state)
  const task = state.tasks[task_id] ?? {
    taskId: task_id,
    title: summary,
    ...(tool_use_id && { toolCallId: callIdOf(state, tool_use_id) }),
  }
  const ended: Task = { ...task, status, ...(summary && { summary }) }
  return reportTask({ ...state, reported: ended }, ended)
}

/**
 * Handles the list of all running background tasks. A task that is not in the list has ended without a report, and is
 * reported as stopped.
 */
export function settleTasks(
  state: TranslateState,
  { tasks }: NativeMessage<'system/background_tasks_changed'>,
): Translation {
  const live = new Set(tasks.map(({ task_id }) => task_id))
  const lost = Object.values(state.tasks).filter(
    ({ taskId, status, background }) => background && status === 'running' && !live.has(taskId),
  )
  return sequence(
    state,
    ...lost.map((task) => (now: TranslateState) => reportTask(now, { ...task, status: 'stopped' })),
  )
}

const taskStatus: Readonly<Record<string, Task['status']>> = {
  pending: 'running',
  running: 'running',
  paused: 'running',
  completed: 'completed',
  failed: 'failed',
  killed: 'stopped',
}

function reportTask(state: TranslateState, task: Task): Translation {
  const before = state.tasks[task.taskId]
  if (before && JSON.stringify(before) === JSON.stringify(task)) return noOutput(state)
  return {
    state: { ...state, tasks: { ...state.tasks, [task.taskId]: task } },
    outputs: [{ type: 'task.updated', ...task }],
  }
}

/** The plan after a call of a plan tool; undefined for a call of another tool. */
export function planAfter(
  state: TranslateState,
  call: Call,
  output: NativeToolOutput,
  parent: { parentToolCallId?: string },
): Translation | undefined {
  const line = parent.parentToolCallId ?? ''
  const before = state.plans[line] ?? []
  const entries = entriesAfter(before, call, output)
  if (!entries || JSON.stringify(entries) === JSON.stringify(before)) return undefined
  return {
    state: { ...state, plans: { ...state.plans, [line]: entries } },
    outputs: [{ type: 'plan.updated', entries: [...entries], ...parent }],
  }
}

function entriesAfter(
  before: readonly PlanEntry[],
  { name, input }: Call,
  output: NativeToolOutput,
): readonly PlanEntry[] | undefined {
  switch (name) {
    case 'TodoWrite':
      return output.newTodos?.map(({ content, status }) => ({ text: content, status: planStatus(status) }))
    case 'TaskList':
      return output.tasks?.map(({ id, subject, status }) => ({
        id,
        text: subject,
        status: planStatus(status),
      }))
    case 'TaskCreate':
    case 'TaskGet': {
      const { task } = output
      if (!task) return undefined
      const entry = { id: task.id, text: task.subject, status: planStatus(task.status ?? 'pending') }
      return placed(before, entry)
    }
    case 'TaskUpdate':
      return output.success && output.taskId ? changed(before, output.taskId, input, output) : undefined
    default:
      return undefined
  }
}

function changed(
  before: readonly PlanEntry[],
  id: string,
  input: unknown,
  output: NativeToolOutput,
): readonly PlanEntry[] {
  const given = isRecord(input) ? input : {}
  const status = output.statusChange?.to ?? given.status
  if (status === 'deleted') return before.filter((entry) => entry.id !== id)
  const known = before.find((entry) => entry.id === id)
  const subject = typeof given.subject === 'string' ? given.subject : undefined
  return placed(before, {
    id,
    text: subject ?? known?.text ?? `Task ${id}`,
    status: typeof status === 'string' ? planStatus(status) : (known?.status ?? 'pending'),
  })
}

function placed(before: readonly PlanEntry[], entry: PlanEntry): readonly PlanEntry[] {
  const known = before.some(({ id }) => id === entry.id)
  return known ? before.map((one) => (one.id === entry.id ? entry : one)) : [...before, entry]
}

function planStatus(status: string): PlanEntry['status'] {
  if (status === 'in_progress') return 'in-progress'
  return status === 'completed' ? 'completed' : 'pending'
}
