import { attempt, noOutput, unrecognised } from '@parley/adapter-kit/translation'
import { ignored, ignoredOfLater, type NativeNotification, unintelligible } from './native.ts'
import { completeItem, startItem } from './translate-item.ts'
import { notices } from './translate-notice.ts'
import { takeMcpStatus, takeName, takeSettings } from './translate-session.ts'
import type { TranslateState, Translation } from './translate-state.ts'
import { streams } from './translate-stream.ts'
import { streamOutput, updatePatch } from './translate-tool-call.ts'
import { beginTurn, completeTurn, takeError, updatePlan } from './translate-turn.ts'
import { measure } from './translate-usage.ts'

type Handler = (state: TranslateState, params: never) => Translation

/** One handler for every notification that is not ignored. */
export const handlers = {
  // conversation
  'turn/started': beginTurn,
  'turn/completed': completeTurn,
  'turn/plan/updated': updatePlan,
  'item/started': startItem,
  'item/completed': completeItem,
  error: takeError,
  ...streams,

  // tools
  'item/commandExecution/outputDelta': streamOutput,
  'item/fileChange/outputDelta': streamOutput,
  'item/fileChange/patchUpdated': updatePatch,

  // session
  'thread/settings/updated': takeSettings,
  'thread/name/updated': takeName,
  'thread/tokenUsage/updated': measure,
  'mcpServer/startupStatus/updated': takeMcpStatus,

  ...notices,
} satisfies Record<string, Handler>

/**
 * Translates the notifications of one conversation and its subagents into outputs. Pure: the same messages from the
 * same state give the same outputs. Invariants:
 * - no text twice: deltas stream a block; the completed item writes the whole block once, under the same id.
 * - no text lost: if an answer breaks off, its streamed part is retracted when another attempt begins. Otherwise it is
 *   left open, and the host writes it.
 * - nothing throws: a message that is not understood becomes `agent.unrecognised`, with the reason.
 * - outside a turn of the host, no turn ends.
 */
export function translate(state: TranslateState, message: NativeNotification): Translation {
  const { method } = message
  if (Object.hasOwn(ignored, method) || Object.hasOwn(ignoredOfLater, method)) return noOutput(state)
  const handler = Object.hasOwn(handlers, method) ? handlers[method as keyof typeof handlers] : undefined
  if (handler) return attempt(state, message, (now) => (handler as Handler)(now, message.params as never))
  const reason = method === unintelligible ? 'not a message of the protocol' : `the notification ${method}`
  return unrecognised(state, message, reason)
}
