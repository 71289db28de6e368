import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, withCall } from '@parley/adapter-kit/translation'
import type { Task, ToolOutcome } from '@parley/protocol'
import { type CallContext, describeItem } from './describe-call.ts'
import type { NativeCallItem, NativeCallStatus, NativeFileChange } from './native.ts'
import { type Call, parentOf, type TranslateState, type Translation } from './translate-state.ts'
import { beginSubagents, followSubagent } from './translate-subagent.ts'
import { contentOf, diffOf } from './translate-tool-result.ts'

/** Records a call when it starts, with its whole input: Codex does not stream the input of a tool. */
export function startCall(state: TranslateState, item: NativeCallItem, threadId: string): Translation {
  if (item.type === 'subAgentActivity') return followSubagent(state, item, threadId)
  const { name, kind, title, input, locations } = describeItem(item, state)
  const call: Call = {
    threadId,
    name,
    kind,
    title,
    input,
    turn: state.turn?.number,
    output: '',
    isCommand: item.type === 'commandExecution',
    ...(item.type === 'mcpToolCall' && { server: item.server }),
    ...(item.type === 'fileChange' && { changes: item.changes }),
  }
  return {
    state: withCall(state, item.id, call),
    outputs: [
      {
        type: 'tool-call.called',
        toolCallId: item.id,
        name,
        kind,
        title,
        input,
        ...(locations && locations.length > 0 && { locations }),
        ...parentOf(state, threadId),
      },
    ],
  }
}

export function endCall(state: TranslateState, item: NativeCallItem, threadId: string): Translation {
  if (item.type === 'subAgentActivity') return followSubagent(state, item, threadId)
  const task = state.background.get(item.id)
  if (task) return endBackground(state, item, task)
  const begun = state.calls.has(item.id) ? noOutput(state) : startCall(state, item, threadId)
  const call = begun.state.calls.get(item.id)
  const ended: AgentOutput = {
    type: 'tool-call.ended',
    toolCallId: item.id,
    outcome: outcomeOf(state, item),
    content: contentOf(item, call?.output),
    ...parentOf(state, threadId),
  }
  const spawned =
    item.type === 'collabAgentToolCall' && item.tool === 'spawnAgent'
      ? beginSubagents(begun.state, item)
      : noOutput(begun.state)
  return {
    state: withoutCall(spawned.state, item.id),
    outputs: [...begun.outputs, ...corrected(item, call, state), ended, ...spawned.outputs],
  }
}

export function streamOutput(
  state: TranslateState,
  { itemId, delta }: { itemId: string; delta: string },
): Translation {
  const call = state.calls.get(itemId)
  if (!call || delta === '') return noOutput(state)
  return {
    state: withCall(state, itemId, { ...call, output: call.output + delta }),
    outputs: [{ type: 'tool-call.output-streamed', toolCallId: itemId, text: delta }],
  }
}

export function updatePatch(
  state: TranslateState,
  { threadId, itemId, changes }: { threadId: string; itemId: string; changes: readonly NativeFileChange[] },
): Translation {
  const call = state.calls.get(itemId)
  if (!call) return noOutput(state)
  const content = changes.map((change) => ({ type: 'diff' as const, ...diffOf(change) }))
  return {
    state: withCall(state, itemId, { ...call, changes }),
    outputs: [{ type: 'tool-call.updated', toolCallId: itemId, content, ...parentOf(state, threadId) }],
  }
}

/**
 * Ends the calls of commands that the model left running, with the output so far. The commands continue after the
 * turn, and their end is recorded as the end of a task.
 */
export function leaveRunning(state: TranslateState): Translation {
  const calls = new Map(state.calls)
  const background = new Map(state.background)
  const outputs: AgentOutput[] = []
  for (const [toolCallId, call] of state.calls) {
    if (call.turn !== state.turn?.number) continue
    calls.delete(toolCallId)
    if (!call.isCommand) continue
    const task: Task = {
      taskId: toolCallId,
      toolCallId,
      title: call.title,
      status: 'running',
      background: true,
    }
    background.set(toolCallId, task)
    outputs.push(
      {
        type: 'tool-call.ended',
        toolCallId,
        outcome: 'completed',
        content: [
          { type: 'terminal', output: call.output },
          { type: 'text', text: 'The command continues in the background.' },
        ],
        ...parentOf(state, call.threadId),
      },
      { type: 'task.updated', ...task },
    )
  }
  return { state: { ...state, calls, background }, outputs }
}

/** Drops calls that did not end with their interrupted turn: no more messages about them arrive. */
export function withoutCallsOfTurn(state: TranslateState): TranslateState {
  const kept = [...state.calls].filter(([, call]) => call.turn !== state.turn?.number)
  return { ...state, calls: new Map(kept) }
}

function endBackground(state: TranslateState, item: NativeCallItem, task: Task): Translation {
  const background = new Map(state.background)
  background.delete(item.id)
  const failed = 'status' in item && item.status !== 'completed'
  const exitCode = item.type === 'commandExecution' ? item.exitCode : null
  const ended: Task = {
    ...task,
    status: failed ? 'failed' : 'completed',
    ...(exitCode !== null && { summary: `The command ended with exit code ${exitCode}.` }),
  }
  return { state: { ...state, background }, outputs: [{ type: 'task.updated', ...ended }] }
}

/** Updates the title and the input of a call that is fully known only at its end. */
function corrected(item: NativeCallItem, call: Call | undefined, context: CallContext): AgentOutput[] {
  const { title, input } = describeItem(item, context)
  if (!call || (call.title === title && JSON.stringify(call.input) === JSON.stringify(input))) return []
  return [{ type: 'tool-call.updated', toolCallId: item.id, title, input }]
}

function outcomeOf(state: TranslateState, item: NativeCallItem): ToolOutcome {
  const status = ('status' in item ? item.status : 'completed') as NativeCallStatus
  if (status === 'interrupted') return 'cancelled'
  if (status !== 'failed' && status !== 'declined') return 'completed'
  if (state.denied.has(item.id)) return 'denied'
  if (state.interrupting) return 'cancelled'
  return status === 'declined' ? 'denied' : 'failed'
}

function withoutCall(state: TranslateState, id: string): TranslateState {
  const calls = new Map(state.calls)
  const denied = new Set(state.denied)
  calls.delete(id)
  denied.delete(id)
  const sandboxes = new Map(state.sandboxes)
  sandboxes.delete(id)
  return { ...state, calls, denied, sandboxes }
}
