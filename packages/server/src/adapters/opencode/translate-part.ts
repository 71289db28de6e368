import type { AgentOutput } from '../../core/agent-adapter.ts'
import { ignoredParts, type NativeFile, type NativePart, type NativePartType } from './native.ts'
import { beginAttempt, translateBlock } from './translate-block.ts'
import { nothing, parentOf, type TranslateState, type Translation, withDone } from './translate-state.ts'
import { translateTool } from './translate-tool.ts'
import { measureStep } from './translate-usage.ts'

type Handled = Exclude<NativePartType, keyof typeof ignoredParts>
type Handler = (state: TranslateState, part: never, gap: boolean) => Translation

/** One handler for every part that is not ignored; a missing one does not compile. */
export const partHandlers = {
  text: translateBlock,
  reasoning: translateBlock,
  tool: translateTool,
  'step-start': beginAttempt,
  'step-finish': measureStep,
  file: tellOfFile,
  compaction: beginCompaction,
} satisfies Record<Handled, Handler>

/**
 * A part of a message. Parts of prompts repeat what we sent. Parts of messages from before this turn are old: OpenCode
 * edits what it no longer shows the model.
 */
export function translatePart(
  state: TranslateState,
  { part }: { readonly part: NativePart },
  gap = false,
): Translation {
  const { type } = part
  if (Object.hasOwn(ignoredParts, type)) return nothing(state)
  const handler = Object.hasOwn(partHandlers, type) ? partHandlers[type as Handled] : undefined
  if (!handler) throw new Error(`a part of type ${type}`)
  const message = state.messages.get(part.messageID)
  const isOurs = message?.role === 'assistant' || (message && type === 'compaction')
  return isOurs ? (handler as Handler)(state, part as never, gap) : nothing(state)
}

/** The model created a file. There is no block for it, so it becomes a notice. */
function tellOfFile(state: TranslateState, { id, sessionID, mime, filename, url }: NativeFile): Translation {
  if (state.done.has(id)) return nothing(state)
  const output: AgentOutput = {
    type: 'agent.noticed',
    level: 'info',
    code: 'file',
    text: `The model made a file: ${filename ?? mime}`,
    data: { mime, url, ...(filename !== undefined && { filename }) },
    ...parentOf(state, sessionID),
  }
  return { state: withDone(state, id), outputs: [output] }
}

/** Comes in place of a prompt when the conversation is about to be compacted. */
function beginCompaction(
  state: TranslateState,
  { id, sessionID, auto }: { readonly id: string; readonly sessionID: string; readonly auto: boolean },
): Translation {
  if (sessionID !== state.root || state.done.has(id)) return nothing(state)
  const compaction = { trigger: auto ? 'auto' : 'manual', before: state.usage.context, summary: '' } as const
  return nothing({ ...withDone(state, id), compaction })
}
