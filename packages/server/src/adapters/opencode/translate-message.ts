import type { FilePart, Part } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice } from '@parley/adapter-kit/translation'
import { ignoredParts, type NativeMessage, type NativePartType, type NativeProperties } from './native.ts'
import {
  parentOf,
  type TranslateState,
  type Translation,
  type Turn,
  withDone,
  withinTurn,
} from './translate-state.ts'
import { beginAttempt, retractOpen, translateBlock } from './translate-stream.ts'
import { translateTool } from './translate-tool-call.ts'
import { measureStep } from './translate-usage.ts'

type Assistant = Extract<NativeMessage, { role: 'assistant' }>

/** Translates a message. Its parts arrive separately. Each step of the model has its own message. */
export function translateMessage(
  state: TranslateState,
  { info }: { readonly info: NativeMessage },
): Translation {
  const isNew = !state.messages.has(info.id)
  const summary = info.role === 'assistant' && info.summary === true
  const messages = new Map(state.messages).set(info.id, { role: info.role, summary })
  const seen = { ...state, messages }
  if (info.sessionID !== state.root) return noOutput(seen)
  if (info.role === 'user') return noOutput(withinTurn(seen, (turn) => receivedPrompt(turn, info.id)))
  const next = withinTurn(seen, (turn) => ({
    ...(isNew && { unseen: [] }),
    ...answerOf(turn, info),
    ...(info.error && { error: turn.error ?? info.error }),
  }))
  return modelInForce(next, info)
}

/** Called when OpenCode has received a steered prompt; the next step of the model will see it. */
function receivedPrompt({ sent, unseen }: Turn, id: string): Partial<Turn> {
  if (!sent.includes(id)) return {}
  return { sent: sent.filter((one) => one !== id), unseen: [...unseen, id] }
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
  if (summary || model === state.reportedModel) return noOutput(next)
  const output: AgentOutput = { type: 'session.configured', effective: { model } }
  return { state: { ...next, reportedModel: model }, outputs: [output] }
}

export function removePart(
  state: TranslateState,
  { partID }: NativeProperties<'message.part.removed'>,
): Translation {
  return retractOpen(state, (id) => id === partID, 'retracted by OpenCode')
}

export function forgetMessage(
  state: TranslateState,
  { messageID }: NativeProperties<'message.removed'>,
): Translation {
  const messages = new Map(state.messages)
  messages.delete(messageID)
  return noOutput({ ...state, messages })
}

type Handled = Exclude<NativePartType, keyof typeof ignoredParts>
type Handler = (state: TranslateState, part: never, gap: boolean) => Translation

/** One handler for every part that is not ignored; a missing handler is a compile error. */
export const partHandlers = {
  text: translateBlock,
  reasoning: translateBlock,
  tool: translateTool,
  'step-start': beginAttempt,
  'step-finish': measureStep,
  file: noticeFile,
  compaction: beginCompaction,
} satisfies Record<Handled, Handler>

/**
 * Translates a part of a message. Two kinds of parts give no output: parts of prompts, which repeat the sent text, and
 * parts of messages from before this turn, since OpenCode edits old parts that it no longer shows to the model.
 */
export function translatePart(
  state: TranslateState,
  { part }: { readonly part: Part },
  gap = false,
): Translation {
  const { type } = part
  if (Object.hasOwn(ignoredParts, type)) return noOutput(state)
  const handler = Object.hasOwn(partHandlers, type) ? partHandlers[type as Handled] : undefined
  if (!handler) throw new Error(`a part of type ${type}`)
  const message = state.messages.get(part.messageID)
  const isOurs = message?.role === 'assistant' || (message && type === 'compaction')
  return isOurs ? (handler as Handler)(state, part as never, gap) : noOutput(state)
}

/** Called when the model created a file. There is no block for a file, so it becomes a notice. */
function noticeFile(state: TranslateState, { id, sessionID, mime, filename, url }: FilePart): Translation {
  if (state.done.has(id)) return noOutput(state)
  const data = { mime, url, ...(filename !== undefined && { filename }) }
  const text = `The model made a file: ${filename ?? mime}`
  const output = notice('info', 'file', text, { data, ...parentOf(state, sessionID) })
  return { state: withDone(state, id), outputs: [output] }
}

/** Handles the part that OpenCode sends in place of a prompt before it compacts the conversation. */
function beginCompaction(
  state: TranslateState,
  { id, sessionID, auto }: { readonly id: string; readonly sessionID: string; readonly auto: boolean },
): Translation {
  if (sessionID !== state.root || state.done.has(id)) return noOutput(state)
  const compaction = { trigger: auto ? 'auto' : 'manual', before: state.usage.context, summary: '' } as const
  return noOutput({ ...withDone(state, id), compaction })
}
