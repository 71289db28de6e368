import { attempt, noOutput, unrecognised, withCall } from '@parley/adapter-kit/translation'
import { isRecord } from '@parley/protocol'
import {
  clientMethods,
  type Frame,
  ignoredUpdates,
  type NativeCall,
  type NativeChunk,
  type NativeContent,
  type NativeMessage,
  type NativeOutcome,
  type NativePermission,
  type NativeUpdate,
  notOffered,
  type UpdateKey,
} from './native.ts'
import * as session from './translate-session.ts'
import { type Sent, sequence, type TranslateState, type Translation } from './translate-state.ts'
import { takeChunk } from './translate-text.ts'
import { callDrafts, endRefused, takeCall } from './translate-tool-call.ts'
import { beginTurn, endTurn, interruptTurn } from './translate-turn.ts'

export {
  initialState,
  type TranslateContext,
  type TranslateState,
  type Translation,
} from './translate-state.ts'

/**
 * Translates the messages to and from an ACP agent into outputs. Our own messages matter too: they begin turns and
 * answer requests. Pure: the same frames from the same state give the same outputs.
 * Invariants:
 * - a block is written once, whole, when another message arrives; its deltas add up to it.
 * - a call is recorded once, with its input, before its permission is requested, and ends once.
 * - the replay of a loaded session gives no output.
 * - nothing throws: a message that is not understood becomes `agent.unrecognised`, with the reason.
 * - messages outside a turn of the host give outputs: the host begins a turn of the agent's own for them.
 */
export function translate(state: TranslateState, { from, message }: Frame): Translation {
  return attempt(state, message, (): Translation => {
    if (!isRecord(message)) return unrecognised(state, message, 'not a JSON-RPC message')
    return from === 'host' ? takeSent(state, message) : takeReceived(state, message)
  })
}

function takeSent(state: TranslateState, { id, method, params, result }: NativeMessage): Translation {
  if (method === undefined)
    return id === undefined || id === null ? noOutput(state) : answered(state, id, result)
  if (id === undefined || id === null) {
    return method === 'session/cancel' ? interruptTurn(state) : noOutput(state)
  }
  const next = { ...state, sent: new Map(state.sent).set(id, { method, params }) }
  if (method === 'session/prompt') return beginTurn(next, params)
  return noOutput(method === 'session/load' ? { ...next, replaying: true } : next)
}

/** Called when the host has responded to a request of the agent. */
function answered(state: TranslateState, id: string | number, result: unknown): Translation {
  const asked = state.asked.get(id)
  if (!asked) return noOutput(state)
  const open = new Map(state.asked)
  open.delete(id)
  const call = state.calls.get(asked.callId)
  const { outcome } = (result ?? {}) as NativeOutcome
  const kind = asked.options.find(({ optionId }) => optionId === outcome?.optionId)?.kind
  const next = { ...state, asked: open }
  if (!call || call.stage === 'ended') return noOutput(next)
  if (outcome?.outcome === 'selected' && !kind?.startsWith('reject')) return noOutput(next)
  const refused = outcome?.outcome === 'selected' ? 'denied' : 'cancelled'
  return noOutput(withCall(next, asked.callId, { ...call, refused }))
}

function takeReceived(state: TranslateState, message: NativeMessage): Translation {
  const { id, method, params } = message
  if (method !== undefined) return takeMethod(state, message, method, params)
  const sent = id === undefined || id === null ? undefined : state.sent.get(id)
  if (id === undefined || id === null || !sent)
    return unrecognised(state, message, 'a response without a request')
  const open = new Map(state.sent)
  open.delete(id)
  return takeResponse({ ...state, sent: open }, sent, message)
}

function takeResponse(state: TranslateState, { method, params }: Sent, message: NativeMessage): Translation {
  const { result, error } = message
  const fields = (params ?? {}) as Readonly<Record<string, string>>
  if (method === 'session/prompt')
    return endTurn(state, error ? { error } : { result: (result ?? {}) as object })
  if (error) return noOutput(method === 'session/load' ? { ...state, replaying: false } : state)
  switch (method) {
    case 'initialize':
      return session.takeIntroduction(state, (result ?? {}) as object)
    case 'session/new':
    case 'session/load':
    case 'session/resume':
    case 'session/fork':
      return session.takeSession(state, (result ?? {}) as object, method === 'session/fork' ? {} : params)
    case 'session/set_mode':
      return session.changeMode(state, fields.modeId ?? '')
    case 'session/set_model':
      return session.changeModel(state, fields.modelId ?? '')
    case 'session/set_config_option':
      return session.changeConfig(state, (result as { configOptions?: [] } | undefined)?.configOptions)
    default:
      return noOutput(state)
  }
}

function takeMethod(
  state: TranslateState,
  message: NativeMessage,
  method: string,
  params: unknown,
): Translation {
  switch (method) {
    case 'session/update': {
      const { update } = params as { update: AnyUpdate }
      return takeUpdate(state, message, update)
    }
    case 'session/request_permission': {
      const { toolCall, options } = params as NativePermission
      const asked = new Map(state.asked).set(message.id ?? '', { callId: toolCall.toolCallId, options })
      return sequence({ ...state, asked }, settleCalls(toolCall.toolCallId), (now) =>
        takeCall(now, toolCall, 'asked'),
      )
    }
    case 'elicitation/create': {
      const { toolCallId } = params as { toolCallId?: string | null }
      return sequence(state, settleCalls(), (now) => noteQuestion(now, toolCallId))
    }
    case 'fs/read_text_file':
    case 'fs/write_text_file':
      return callDrafts(state)
    case 'auth/status_update':
    case '_auth/status_update':
      return session.takeAuthStatus(state, params)
    default:
      if (Object.hasOwn(clientMethods, method)) return noOutput(state)
      if (Object.hasOwn(state.dialect.ownMethods ?? {}, method)) return noOutput(state)
      return unrecognised(state, message, `the method ${method} is not known`)
  }
}

/** Marks the call that a question belongs to as asked. */
function noteQuestion(state: TranslateState, nativeId: string | null | undefined): Translation {
  const call = nativeId ? state.calls.get(nativeId) : undefined
  return noOutput(call && nativeId ? withCall(state, nativeId, { ...call, asked: true }) : state)
}

type AnyUpdate = Readonly<Record<string, unknown>> & { readonly sessionUpdate: string }
type Handler = (state: TranslateState, update: never) => Translation
type HandledUpdate = Exclude<UpdateKey, keyof typeof ignoredUpdates | keyof typeof notOffered>

/**
 * One handler for every update that is neither in `ignoredUpdates` nor in `notOffered`; a missing handler is a compile
 * error.
 */
export const handlers = {
  // conversation
  agent_message_chunk: (state: TranslateState, update: NativeChunk) => takeChunk(state, update, 'text'),
  agent_thought_chunk: (state: TranslateState, update: NativeChunk) => takeChunk(state, update, 'thinking'),
  tool_call: (state: TranslateState, update: NativeCall) => takeCall(state, update, 'announced'),
  tool_call_update: (state: TranslateState, update: NativeCall) => takeCall(state, update, 'updated'),
  plan: session.takePlan,

  // session
  available_commands_update: session.takeCommands,
  current_mode_update: (state: TranslateState, { currentModeId }: NativeUpdate<'current_mode_update'>) =>
    session.changeMode(state, currentModeId),
  config_option_update: (state: TranslateState, { configOptions }: NativeUpdate<'config_option_update'>) =>
    session.changeConfig(state, configOptions),
  session_info_update: session.takeTitle,
  usage_update: session.takeUsage,
  notice: session.takeNotice,
  compaction_update: session.takeCompaction,
  compaction_summary_chunk: session.takeSummaryChunk,
} satisfies Record<HandledUpdate, Handler>

/** Updates that are not part of the conversation. After one of them, a draft call remains a draft. */
const beside = new Set([
  'usage_update',
  'available_commands_update',
  'session_info_update',
  'config_option_update',
  'notice',
])

function takeUpdate(before: TranslateState, message: NativeMessage, update: AnyUpdate): Translation {
  const key = update.sessionUpdate
  const state = noteReplay(before, update)
  if (Object.hasOwn(ignoredUpdates, key)) return noOutput(state)
  const isKnown = Object.hasOwn(handlers, key)
  if (state.replaying && !isKnown) return noOutput(state)
  if (Object.hasOwn(notOffered, key)) {
    return unrecognised(state, message, notOffered[key as keyof typeof notOffered])
  }
  if (!isKnown) return unrecognised(state, message, `an update of type ${key}`)
  const handler = handlers[key as HandledUpdate] as Handler
  const call = typeof update.toolCallId === 'string' ? update.toolCallId : undefined
  return sequence(
    state,
    (now) => (beside.has(key) ? noOutput(now) : settleCalls(call)(now)),
    (now) => handler(now, update as never),
  )
}

/** Settles open calls when the next message arrives: drafts are recorded, and refused calls end. */
function settleCalls(except?: string): (state: TranslateState) => Translation {
  return (state) =>
    sequence(
      state,
      (now) => callDrafts(now, except),
      (now) => endRefused(now, except),
    )
}

/** In a replay, tracks the last message of the person and the call that the agent waited for. */
function noteReplay(state: TranslateState, update: AnyUpdate): TranslateState {
  const { sessionUpdate: key, toolCallId, status } = update
  if (!state.replaying || beside.has(key)) return state
  if (key === 'user_message_chunk') {
    const { content } = update as unknown as { content: NativeContent }
    const words = content.text ?? ''
    const { notThePerson } = state.dialect
    if (notThePerson && new RegExp(notThePerson).test(words)) return state
    const lastPrompt = state.isInPrompt ? `${state.lastPrompt}\n${words}` : words
    return { ...state, isInPrompt: true, lastPrompt, openCall: undefined }
  }
  const call = typeof toolCallId === 'string' ? toolCallId : undefined
  const isDone = status === 'completed'
  const left = isDone && call === state.openCall ? undefined : state.openCall
  return { ...state, isInPrompt: false, openCall: key === 'tool_call' && !isDone ? call : left }
}
