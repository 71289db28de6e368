import type { ToolPart } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, sequence, withCall } from '@parley/adapter-kit/translation'
import { describeCall } from './describe-call.ts'
import type { NativeMetadata } from './native.ts'
import {
  type Call,
  callKey,
  parentOf,
  type TranslateState,
  type Translation,
  withDone,
} from './translate-state.ts'
import { finishBefore } from './translate-stream.ts'
import { resultOf } from './translate-tool-result.ts'

/**
 * Translates a tool call. Its state is `pending` while its input is written, then `running`, and finally `completed` or
 * `error`. A state may be missing, and none is reported twice.
 */
export function translateTool(state: TranslateState, part: ToolPart): Translation {
  const { id, state: now } = part
  if (state.done.has(id)) return noOutput(state)
  const known = state.calls.get(id)
  if (now.status === 'pending') return known ? noOutput(state) : draft(state, part)
  if (!known?.called && wasCutOff(part)) return noOutput(withDone(state, id))
  const begin = known?.called ? [] : [finishBefore, call]
  const steps = [...begin, now.status === 'running' ? progress : end]
  return sequence(state, ...steps.map((step) => (next: TranslateState) => step(next, part)))
}

/** True if the call was interrupted before its input was complete. */
function wasCutOff(part: ToolPart): boolean {
  const { status, input } = part.state
  return status === 'error' && metadataOf(part).interrupted === true && Object.keys(input).length === 0
}

function draft(state: TranslateState, part: ToolPart): Translation {
  const { id, sessionID, tool } = part
  return {
    state: withCall(state, id, newCall(part)),
    outputs: [{ type: 'tool-call.drafted', toolCallId: id, name: tool, ...parentOf(state, sessionID) }],
  }
}

function call(state: TranslateState, part: ToolPart): Translation {
  const { id, sessionID, tool, state: now } = part
  const { kind, title, locations } = describeCall(tool, now.input, state)
  const known = state.calls.get(id) ?? newCall(part)
  return {
    state: withCall(state, id, { ...known, called: true, title }),
    outputs: [
      {
        type: 'tool-call.called',
        toolCallId: id,
        name: tool,
        kind,
        title,
        input: now.input,
        ...(locations && { locations }),
        ...parentOf(state, sessionID),
      },
    ],
  }
}

/** Streams the new output of a command, or records the session of a subagent. */
function progress(state: TranslateState, part: ToolPart): Translation {
  const { id, tool } = part
  const { output, sessionId } = metadataOf(part)
  const known = state.calls.get(id)
  if (tool === 'task' && sessionId !== undefined) {
    return noOutput({ ...state, sessions: { ...state.sessions, [sessionId]: id } })
  }
  if (tool !== 'bash' || output === undefined || known?.output === undefined) return noOutput(state)
  if (!output.startsWith(known.output)) return noOutput(withCall(state, id, { ...known, output: undefined }))
  const text = output.slice(known.output.length)
  return {
    state: withCall(state, id, { ...known, output }),
    outputs: text === '' ? [] : [{ type: 'tool-call.output-streamed', toolCallId: id, text }],
  }
}

function end(state: TranslateState, part: ToolPart): Translation {
  const known = state.calls.get(part.id) ?? newCall(part)
  const { outcome, content } = resultOf(part, { ...known, interrupting: state.interrupting })
  const ended: AgentOutput = {
    type: 'tool-call.ended',
    toolCallId: part.id,
    outcome,
    content,
    ...parentOf(state, part.sessionID),
  }
  const { sessionId } = metadataOf(part)
  const sessions =
    part.tool === 'task' && sessionId !== undefined
      ? { ...state.sessions, [sessionId]: part.id }
      : state.sessions
  return { state: { ...withDone(state, part.id), sessions }, outputs: [ended] }
}

function newCall(part: ToolPart): Call {
  return {
    key: callKey(part),
    tool: part.tool,
    sessionID: part.sessionID,
    messageID: part.messageID,
    called: false,
    denied: false,
    title: part.tool,
    output: '',
    patch: undefined,
  }
}

export function metadataOf({ state }: ToolPart): NativeMetadata {
  return ('metadata' in state && state.metadata) || {}
}
