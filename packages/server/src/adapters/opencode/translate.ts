import { attempt, noOutput, unrecognised } from '@parley/adapter-kit/translation'
import { isRecord } from '@parley/protocol'
import { ignored, ignoredFrames, type NativeType } from './native.ts'
import { forgetMessage, removePart, translateMessage, translatePart } from './translate-message.ts'
import {
  addSubagentSession,
  endCompaction,
  ignoredHere,
  noticeDeletion,
  notices,
  rememberRequest,
  reportTitle,
  takeReply,
  updatePlan,
} from './translate-notice.ts'
import type { TranslateState, Translation } from './translate-state.ts'
import { translateDelta } from './translate-stream.ts'
import { becomeIdle, followStatus, takeError } from './translate-turn.ts'

/**
 * Translates the events of OpenCode into outputs. Pure: the same events from the same state give the same outputs.
 * - every block and every call has the id of its part, which OpenCode uses once.
 * - no text is repeated or lost: deltas are passed on, and the whole text is written once when it arrives. If deltas
 *   were missed, the missing text is sent as one delta before the whole text is written.
 * - a part that was reported completely gives no more output: an event may be repeated after a gap.
 * - outputs of a subagent's session name the tool call that started it.
 * - a turn ends when OpenCode is idle and its last message is complete.
 * - nothing throws: an event that is not understood becomes `agent.unrecognised`, with the reason.
 */
export function translate(state: TranslateState, event: unknown): Translation {
  const type = typeOf(event)
  if (Object.hasOwn(ignored, type) || Object.hasOwn(ignoredFrames, type)) return noOutput(state)
  const handler = Object.hasOwn(handlers, type) ? handlers[type as Handled] : undefined
  if (!handler) return unrecognised(state, event, `an event of type ${type || 'nothing'}`)
  if (!concerns(state, event)) return noOutput(state)
  return attempt(state, event, (now) => (handler as Handler)(now, propertiesOf(event) as never))
}

type Handler = (state: TranslateState, properties: never) => Translation
type Handled = Exclude<NativeType, keyof typeof ignored>

/** One handler for every event that is not ignored; a missing handler is a compile error. */
export const handlers = {
  // conversation
  'message.updated': translateMessage,
  'message.removed': forgetMessage,
  'message.part.updated': translatePart,
  'message.part.delta': translateDelta,
  'message.part.removed': removePart,

  // session
  'session.created': addSubagentSession,
  'session.updated': reportTitle,
  'session.deleted': noticeDeletion,
  'session.status': followStatus,
  'session.idle': becomeIdle,
  'session.error': takeError,
  'session.compacted': endCompaction,
  'todo.updated': updatePlan,

  // person
  'permission.asked': rememberRequest,
  'permission.replied': takeReply,
  'question.asked': ignoredHere,
  'question.replied': ignoredHere,
  'question.rejected': ignoredHere,

  ...notices,
} satisfies Record<Handled, Handler>

/** True if the event belongs to this conversation, one of its subagents, or no conversation at all. */
export function concerns(state: TranslateState, event: unknown): boolean {
  const properties = propertiesOf(event)
  const session = properties.sessionID
  if (typeof session !== 'string' || session in state.sessions) return true
  const info = isRecord(properties.info) ? properties.info : {}
  return typeOf(event) === 'session.created' && String(info.parentID) in state.sessions
}

export function typeOf(event: unknown): string {
  return isRecord(event) && typeof event.type === 'string' ? event.type : ''
}

export function propertiesOf(event: unknown): Readonly<Record<string, unknown>> {
  return isRecord(event) && isRecord(event.properties) ? event.properties : {}
}
