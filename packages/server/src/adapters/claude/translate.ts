import { attempt, noOutput, unrecognised, withDenied } from '@parley/adapter-kit/translation'
import { describeCall } from './describe-call.ts'
import { ignored, ignoredFrames, type NativeKey, type NativeStreamEvent } from './native.ts'
import { translateAssistant } from './translate-assistant.ts'
import { notices } from './translate-notice.ts'
import { beginningOf, translateResult } from './translate-result.ts'
import {
  beginConversationAnew,
  changeCommands,
  compact,
  followCommand,
  takeInit,
  takeStatus,
} from './translate-session.ts'
import {
  type TranslateState,
  type Translation,
  takenFrom,
  withOwnTurn,
  withTaken,
} from './translate-state.ts'
import { translateStreamEvent } from './translate-stream.ts'
import { endTask, progressTask, settleTasks, startTask, updateTask } from './translate-task.ts'
import { translateUser } from './translate-user.ts'

export {
  initialState,
  type TranslateContext,
  type TranslateState,
  type Translation,
  withCommands,
  withRequestedMode,
  withSteering,
  withTurn,
} from './translate-state.ts'

/**
 * Translates the messages of Claude Code into outputs. Pure: the same messages from the same state give the same
 * outputs.
 * Invariants, with partial messages on or off:
 * - no text twice: stream events give deltas; a block is written once, whole, by its assistant message, under the id
 *   of its deltas (message id and index). A block without stream events is written as well.
 * - no text lost: if an answer breaks off, its streamed part is retracted when another attempt begins. Otherwise it is
 *   left open, and the host writes it.
 * - a message is translated once; its uuid identifies it.
 * - nothing throws: a message that is not understood becomes `agent.unrecognised`, with the reason.
 * - output of the main agent outside a turn of the host begins a turn of the agent's own.
 */
export function translate(state: TranslateState, message: unknown): Translation {
  const key = keyOf(message)
  if (!state.turn && beginsTurn(state, key, message)) return inOwnTurn(state, message)
  if (key === 'stream_event')
    return attempt(state, message, (now) => translateStreamEvent(now, message as never))
  const uuid = uuidOf(message)
  if (uuid !== undefined && takenFrom(state, uuid)) return noOutput(state)
  if (Object.hasOwn(ignored, key) || Object.hasOwn(ignoredFrames, key)) return noOutput(state)
  const handler = Object.hasOwn(handlers, key) ? handlers[key as keyof typeof handlers] : undefined
  const flushed = key === 'user' ? noOutput(state) : compact.flush(state)
  const next = handler
    ? attempt(flushed.state, message, (now) => (handler as Handler)(now, message as never))
    : unrecognised(flushed.state, message, `a message of type ${key || 'nothing'}`)
  return { state: withTaken(next.state, uuid), outputs: [...flushed.outputs, ...next.outputs] }
}

/**
 * True if the main agent begins an answer, sends one that was not streamed, or reacts to the report of a background
 * task.
 */
function beginsTurn({ reported }: TranslateState, key: string, message: unknown): boolean {
  if (key === 'system/init') return reported !== undefined
  const { parent_tool_use_id, event, uuid } = message as Partial<NativeStreamEvent & { uuid: string }>
  if (parent_tool_use_id) return false
  return key === 'stream_event' ? event?.type === 'message_start' : key === 'assistant' && uuid !== undefined
}

function inOwnTurn(before: TranslateState, message: unknown): Translation {
  const uuid = uuidOf(message)
  if (uuid !== undefined && takenFrom(before, uuid)) return noOutput(before)
  const { state, outputs } = translate(withOwnTurn(before), message)
  return { state, outputs: [beginningOf(before), ...outputs] }
}

type Handler = (state: TranslateState, message: never) => Translation

type HandledKey = Exclude<NativeKey, keyof typeof ignored>

/** One handler for every message that is not ignored; a missing handler is a compile error. */
export const handlers = {
  // conversation
  assistant: translateAssistant,
  user: translateUser,
  stream_event: translateStreamEvent,
  result: translateResult,
  conversation_reset: beginConversationAnew,

  // session
  'system/init': takeInit,
  'system/status': takeStatus,
  'system/compact_boundary': compact.hold,
  'system/commands_changed': changeCommands,
  command_lifecycle: followCommand,

  // tools and tasks
  'system/permission_denied': (state, { tool_use_id }: { tool_use_id: string }) =>
    noOutput(withDenied(state, tool_use_id)),
  'system/task_started': startTask,
  'system/task_updated': updateTask,
  'system/task_progress': progressTask,
  'system/task_notification': endTask,
  'system/background_tasks_changed': settleTasks,

  ...notices,
} satisfies Record<HandledKey | 'command_lifecycle', Handler>

/**
 * Announces a deferred call again under the new id `toolCallId`: the agent continues the call under its old id, but the
 * host has ended the old call.
 */
export function callAgain(
  state: TranslateState,
  call: { nativeId: string; toolCallId: string; name: string; input: unknown },
): Translation {
  const { nativeId, toolCallId, input } = call
  const { name, kind, title, locations } = describeCall(state, call.name, input)
  return {
    state: {
      ...state,
      aliases: new Map(state.aliases).set(nativeId, toolCallId),
      calls: new Map(state.calls).set(toolCallId, { name, title, input }),
    },
    outputs: [
      {
        type: 'tool-call.called',
        toolCallId,
        name,
        kind,
        title,
        input,
        ...(locations && { locations }),
      },
    ],
  }
}

function keyOf(message: unknown): string {
  const { type, subtype } = (message ?? {}) as { type?: unknown; subtype?: unknown }
  return type === 'system' ? `system/${String(subtype)}` : String(type ?? '')
}

function uuidOf(message: unknown): string | undefined {
  const { uuid } = (message ?? {}) as { uuid?: unknown }
  return typeof uuid === 'string' ? uuid : undefined
}
