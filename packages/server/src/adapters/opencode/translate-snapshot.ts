import type { Part, SessionStatus, Todo } from '@opencode-ai/sdk/v2/client'
import { noOutput, sequence } from '@parley/adapter-kit/translation'
import type { NativeMessage } from './native.ts'
import { translate } from './translate.ts'
import type { TranslateState, Translation } from './translate-state.ts'
import { translateBlock } from './translate-stream.ts'

/** The messages and the status of a session as OpenCode has stored them. */
export type SessionSnapshot = {
  readonly sessionID: string
  readonly messages: readonly { readonly info: NativeMessage; readonly parts: readonly Part[] }[]
  readonly todos: readonly Todo[]
}

/**
 * Reports the events that were missed, from the data that OpenCode has stored: the messages since the start of the
 * turn, as if they arrived now. Nothing is reported twice, and later repetitions in the stream have no effect.
 */
export function reconcile(state: TranslateState, snapshot: SessionSnapshot): Translation {
  const { sessionID, messages, todos } = snapshot
  const since = state.turn?.at ?? Number.POSITIVE_INFINITY
  const missed = messages.filter(({ info }) => info.time.created >= since)
  return sequence(
    state,
    ...missed.flatMap(({ info, parts }) => [
      onEvent({ type: 'message.updated', properties: { sessionID, info } }),
      ...parts.map((part) => (now: TranslateState) => translateStoredPart(now, sessionID, part)),
      (now: TranslateState) => translateStoredCompaction(now, info),
    ]),
    onEvent({ type: 'todo.updated', properties: { sessionID, todos } }),
  )
}

/** Reports whether the session is busy or idle. Must be called last, since it may end the turn. */
export function reconcileStatus(state: TranslateState, status: SessionStatus): Translation {
  const sessionID = state.root
  const now = { type: 'session.status', properties: { sessionID, status } }
  if (status.type !== 'idle') return translate(state, now)
  const busy = { type: 'session.status', properties: { sessionID, status: { type: 'busy' } } }
  return sequence(state, onEvent(busy), onEvent(now))
}

/**
 * Reports the current state of a part. A text or thinking block is translated as after a gap (see `translateBlock`).
 */
export function translateStoredPart(state: TranslateState, sessionID: string, part: Part): Translation {
  const message = state.messages.get(part.messageID)
  if ((part.type === 'text' || part.type === 'reasoning') && message?.role === 'assistant') {
    return translateBlock(state, part, true)
  }
  return translate(state, { type: 'message.part.updated', properties: { sessionID, part } })
}

/** Reports a compaction whose event was missed, if its summary is complete. */
export function translateStoredCompaction(state: TranslateState, info: NativeMessage): Translation {
  const { sessionID } = info
  const whole = info.role === 'assistant' && info.summary && info.finish !== undefined && !info.error
  if (!whole || !state.compaction) return noOutput(state)
  return translate(state, { type: 'session.compacted', properties: { sessionID } })
}

function onEvent(event: unknown) {
  return (state: TranslateState): Translation => translate(state, event)
}
