import type { OpenBlock } from './block.ts'
import type { KnownTask, SessionState } from './session-state.ts'

/**
 * `parentToolCallId` names the call that started the subagent to which the block, call or request belongs. It is
 * absent for the main agent.
 */
type Owned = { readonly parentToolCallId?: string | undefined }
type Tasks = Pick<SessionState, 'tasks' | 'openBlocks'>

/** The running background tasks. A parked task is not among them: it has no process and waits for a person. */
export function runningInBackground({ tasks }: Pick<SessionState, 'tasks'>): KnownTask[] {
  return tasks.filter((task) => isInBackground(task) && !task.parked)
}

export function isInBackground({ status, background }: KnownTask): boolean {
  return status === 'running' && background === true
}

/**
 * The background task that a block, a call or a request belongs to: the task whose call started its subagent,
 * directly or through other subagents. Undefined if it belongs to a turn.
 */
export function backgroundTaskOf(state: Tasks, { parentToolCallId }: Owned): KnownTask | undefined {
  let parent = parentToolCallId
  for (let depth = 0; parent !== undefined && depth < maxDepth; depth++) {
    const id = parent
    const task = state.tasks.find((one) => one.toolCallId === id && isInBackground(one))
    if (task) return task
    parent = openCall(state.openBlocks, id)?.parentToolCallId
  }
  return undefined
}

/**
 * True if a block, a call or a request stays open when the turn ends, because it belongs to a background task or to a
 * subagent that outlived its turn.
 */
export function isBesideTurns(state: Tasks, one: Owned & { readonly turnId?: string | undefined }): boolean {
  if (one.parentToolCallId === undefined) return false
  return one.turnId === undefined || backgroundTaskOf(state, one) !== undefined
}

/** The maximum depth of nested subagents. */
const maxDepth = 16

function openCall(blocks: readonly OpenBlock[], id: string): OpenBlock | undefined {
  return blocks.find((block) => block.id === id && block.type === 'tool-call')
}
