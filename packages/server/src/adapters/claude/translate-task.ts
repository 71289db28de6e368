import type { Task } from '@parley/protocol'
import type {
  NativeBackgroundTasks,
  NativeTaskNotification,
  NativeTaskProgress,
  NativeTaskStarted,
  NativeTaskUpdated,
} from './native.ts'
import { callIdOf, type TranslateState, type Translation } from './translate-state.ts'

/** Starts a subagent or command in the background. Internal tasks of the agent are not shown. */
export function startTask(state: TranslateState, message: NativeTaskStarted): Translation {
  if (message.skip_transcript) return { state, outputs: [] }
  const { task_id, tool_use_id, description, is_backgrounded, parent_task_id } = message
  const parent = parent_task_id ? state.tasks[parent_task_id]?.toolCallId : undefined
  return say(state, {
    taskId: task_id,
    title: description,
    status: 'running',
    ...(tool_use_id && { toolCallId: callIdOf(state, tool_use_id) }),
    ...(parent && { parentToolCallId: parent }),
    ...(is_backgrounded !== undefined && { background: is_backgrounded }),
  })
}

export function updateTask(state: TranslateState, { task_id, patch }: NativeTaskUpdated): Translation {
  const task = state.tasks[task_id]
  if (!task) return { state, outputs: [] }
  const status = patch.status ? statusOf[patch.status] : task.status
  return say(state, {
    ...task,
    status: status ?? task.status,
    ...(patch.description && { title: patch.description }),
    ...(patch.is_backgrounded !== undefined && { background: patch.is_backgrounded }),
    ...(patch.error && { summary: patch.error }),
  })
}

/** Only a new summary gives an event; the counters of every step do not. */
export function progressTask(state: TranslateState, { task_id, summary }: NativeTaskProgress): Translation {
  const task = state.tasks[task_id]
  return task && summary ? say(state, { ...task, summary }) : { state, outputs: [] }
}

export function endTask(state: TranslateState, message: NativeTaskNotification): Translation {
  const { task_id, tool_use_id, status, summary, skip_transcript } = message
  if (skip_transcript) return { state, outputs: [] }
  const task = state.tasks[task_id] ?? {
    taskId: task_id,
    title: summary,
    ...(tool_use_id && { toolCallId: callIdOf(state, tool_use_id) }),
  }
  const ended: Task = { ...task, status, ...(summary && { summary }) }
  return say({ ...state, reported: ended }, ended)
}

/**
 * Takes the list of all running background tasks. The messages of each task carry the same information; this list
 * finds tasks whose end was not reported.
 */
export function settleTasks(state: TranslateState, { tasks }: NativeBackgroundTasks): Translation {
  const live = new Set(tasks.map(({ task_id }) => task_id))
  const lost = Object.values(state.tasks).filter(
    ({ taskId, status, background }) => background && status === 'running' && !live.has(taskId),
  )
  return lost.reduce<Translation>(
    (before, task) => {
      const { state: next, outputs } = say(before.state, { ...task, status: 'stopped' })
      return { state: next, outputs: [...before.outputs, ...outputs] }
    },
    { state, outputs: [] },
  )
}

const statusOf: Readonly<Record<string, Task['status']>> = {
  pending: 'running',
  running: 'running',
  paused: 'running',
  completed: 'completed',
  failed: 'failed',
  killed: 'stopped',
}

function say(state: TranslateState, task: Task): Translation {
  const before = state.tasks[task.taskId]
  if (before && JSON.stringify(before) === JSON.stringify(task)) return { state, outputs: [] }
  return {
    state: { ...state, tasks: { ...state.tasks, [task.taskId]: task } },
    outputs: [{ type: 'task.updated', ...task }],
  }
}
