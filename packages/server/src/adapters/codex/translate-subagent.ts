import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, sequence } from '@parley/adapter-kit/translation'
import type { Task } from '@parley/protocol'
import { describeItem } from './describe-call.ts'
import type { NativeCollabItem, NativeSubagentItem, NativeTurn } from './native.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'

/**
 * Begins the subagents that a call started. A subagent is a separate thread in Codex and a task in Parley: it may
 * outlive the call that started it, and the turn.
 */
export function beginSubagents(
  state: TranslateState,
  { id, receiverThreadIds, prompt }: NativeCollabItem,
): Translation {
  const title = prompt?.split('\n')[0] || 'A subagent'
  const steps = receiverThreadIds.map(
    (threadId) => (now: TranslateState) => begin(now, threadId, { toolCallId: id, title }),
  )
  return sequence(state, ...steps)
}

/** Records the start of a subagent of `multi_agent_v2`, with a tool call, because Codex does not report that call. */
export function followSubagent(
  state: TranslateState,
  item: NativeSubagentItem,
  threadId: string,
): Translation {
  const known = state.subagents.has(item.agentThreadId)
  if (item.kind !== 'started' || known) return noOutput(state)
  const { name, kind, title, input } = describeItem(item, state)
  const parent = parentOf(state, threadId)
  const call = { toolCallId: item.id, ...parent }
  const begun = begin(state, item.agentThreadId, { toolCallId: item.id, title })
  return {
    state: begun.state,
    outputs: [
      { type: 'tool-call.called', ...call, name, kind, title, input },
      {
        type: 'tool-call.ended',
        ...call,
        outcome: 'completed',
        content: [{ type: 'text', text: 'Started in the background.' }],
      },
      ...begun.outputs,
    ],
  }
}

export function beginSubagentTurn(state: TranslateState, threadId: string, turn: NativeTurn): Translation {
  const subagent = state.subagents.get(threadId)
  if (!subagent) return noOutput(state)
  const again = subagent.answer !== undefined
  const next = { ...subagent, nativeTurn: turn.id, answer: undefined }
  const subagents = new Map(state.subagents).set(threadId, next)
  const outputs = again ? [taskOf(threadId, subagent, { status: 'running' })] : []
  return { state: { ...state, subagents }, outputs }
}

const ends: Readonly<Record<NativeTurn['status'], Task['status']>> = {
  inProgress: 'running',
  completed: 'completed',
  interrupted: 'stopped',
  failed: 'failed',
}

export function endSubagentTurn(state: TranslateState, threadId: string, turn: NativeTurn): Translation {
  const subagent = state.subagents.get(threadId)
  if (!subagent) return noOutput(state)
  const summary = turn.error?.message ?? subagent.answer
  const subagents = new Map(state.subagents).set(threadId, {
    ...subagent,
    nativeTurn: undefined,
    answer: subagent.answer ?? '',
  })
  const task = taskOf(threadId, subagent, { status: ends[turn.status], ...(summary && { summary }) })
  return { state: { ...state, subagents }, outputs: [task] }
}

function begin(
  state: TranslateState,
  threadId: string,
  { toolCallId, title }: { toolCallId: string; title: string },
): Translation {
  if (state.subagents.has(threadId)) return noOutput(state)
  const subagent = { toolCallId, title, nativeTurn: undefined, answer: undefined }
  const subagents = new Map(state.subagents).set(threadId, subagent)
  return { state: { ...state, subagents }, outputs: [taskOf(threadId, subagent, { status: 'running' })] }
}

function taskOf(
  taskId: string,
  { toolCallId, title }: { toolCallId: string; title: string },
  how: Pick<Task, 'status' | 'summary'>,
): AgentOutput {
  return { type: 'task.updated', taskId, toolCallId, title, background: true, ...how }
}
