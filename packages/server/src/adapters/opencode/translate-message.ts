import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { NativeMessage, NativeProperties } from './native.ts'
import { retractOpen } from './translate-block.ts'
import { nothing, type TranslateState, type Translation, type Turn, withinTurn } from './translate-state.ts'

type Assistant = Extract<NativeMessage, { role: 'assistant' }>

/** A message; its parts come separately. The model has one message for each of its steps. */
export function translateMessage(
  state: TranslateState,
  { info }: { readonly info: NativeMessage },
): Translation {
  const isNew = !state.messages.has(info.id)
  const summary = info.role === 'assistant' && info.summary === true
  const messages = new Map(state.messages).set(info.id, { role: info.role, summary })
  const seen = { ...state, messages }
  if (info.sessionID !== state.root) return nothing(seen)
  if (info.role === 'user') return nothing(withinTurn(seen, (turn) => heardOf(turn, info.id)))
  const next = withinTurn(seen, (turn) => ({
    ...(isNew && { unheard: [] }),
    ...answerOf(turn, info),
    ...(info.error && { error: turn.error ?? info.error }),
  }))
  return modelInForce(next, info)
}

/** OpenCode has received a steered prompt; the next step of the model will see it. */
function heardOf({ sent, unheard }: Turn, id: string): Partial<Turn> {
  if (!sent.includes(id)) return {}
  return { sent: sent.filter((one) => one !== id), unheard: [...unheard, id] }
}

function answerOf({ answer }: Turn, { id, time, finish, structured }: Assistant): Partial<Turn> {
  const before = answer?.id === id ? answer : undefined
  return {
    answer: {
      id,
      completed: time.completed !== undefined,
      finish: finish ?? before?.finish,
      structured: structured ?? answer?.structured,
    },
  }
}

function modelInForce(state: TranslateState, { summary, providerID, modelID }: Assistant): Translation {
  const model = `${providerID}/${modelID}`
  const window = state.windows[model] ?? state.usage.window
  const next = { ...state, usage: { ...state.usage, window } }
  if (summary || model === state.saidModel) return nothing(next)
  const output: AgentOutput = { type: 'session.configured', effective: { model } }
  return { state: { ...next, saidModel: model }, outputs: [output] }
}

export function removePart(
  state: TranslateState,
  { partID }: NativeProperties<'message.part.removed'>,
): Translation {
  return retractOpen(state, (id) => id === partID, 'OpenCode took it back')
}

export function forgetMessage(
  state: TranslateState,
  { messageID }: NativeProperties<'message.removed'>,
): Translation {
  const messages = new Map(state.messages)
  messages.delete(messageID)
  return nothing({ ...state, messages })
}
