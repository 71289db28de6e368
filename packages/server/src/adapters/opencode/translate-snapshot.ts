import type { NativeMessage, NativePart, NativeStatus, NativeTodo } from './native.ts'
import { translate } from './translate.ts'
import { nothing, type TranslateState, type Translation } from './translate-state.ts'
import { translateBlock } from './translate-stream.ts'

/** What OpenCode has stored of a session. */
export type SessionSnapshot = {
  readonly sessionID: string
  readonly messages: readonly { readonly info: NativeMessage; readonly parts: readonly NativePart[] }[]
  readonly todos: readonly NativeTodo[]
}

/**
 * Reports what was missed, from what OpenCode has stored: the messages since the start of the turn, as if they came
 * now. Nothing is reported twice, and later repetitions in the stream have no effect.
 */
export function reconcile(state: TranslateState, snapshot: SessionSnapshot): Translation {
  const { sessionID, messages, todos } = snapshot
  const since = state.turn?.at ?? Number.POSITIVE_INFINITY
  let next = nothing(state)
  for (const { info, parts } of messages) {
    if (info.time.created < since) continue
    next = then(next, { type: 'message.updated', properties: { sessionID, info } })
    for (const part of parts) next = also(next, tellPart(next.state, sessionID, part))
    next = also(next, tellCompaction(next.state, info))
  }
  return then(next, { type: 'todo.updated', properties: { sessionID, todos } })
}

/** Reports whether the session is busy or idle. Comes last, since it may end the turn. */
export function reconcileStatus(state: TranslateState, status: NativeStatus): Translation {
  const sessionID = state.root
  const now = { type: 'session.status', properties: { sessionID, status } }
  if (status.type !== 'idle') return translate(state, now)
  const busy = { type: 'session.status', properties: { sessionID, status: { type: 'busy' } } }
  return then(then(nothing(state), busy), now)
}

/** Reports a part as it is now. For an unfinished text, only its end contains the whole text. */
export function tellPart(state: TranslateState, sessionID: string, part: NativePart): Translation {
  const message = state.messages.get(part.messageID)
  if ((part.type === 'text' || part.type === 'reasoning') && message?.role === 'assistant') {
    return translateBlock(state, part, true)
  }
  return translate(state, { type: 'message.part.updated', properties: { sessionID, part } })
}

/** The event was missed, but the summary is complete. */
export function tellCompaction(state: TranslateState, info: NativeMessage): Translation {
  const { sessionID } = info
  const whole = info.role === 'assistant' && info.summary && info.finish !== undefined && !info.error
  if (!whole || !state.compaction) return nothing(state)
  return translate(state, { type: 'session.compacted', properties: { sessionID } })
}

function then(before: Translation, event: unknown): Translation {
  return also(before, translate(before.state, event))
}

function also(before: Translation, { state, outputs }: Translation): Translation {
  return { state, outputs: [...before.outputs, ...outputs] }
}
