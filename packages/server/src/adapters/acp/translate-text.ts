import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput } from '@parley/adapter-kit/translation'
import type { NativeChunk } from './native.ts'
import { changeMode } from './translate-session.ts'
import {
  inMeta,
  type OpenText,
  ourId,
  sequence,
  type TranslateState,
  type Translation,
} from './translate-state.ts'

/** Handles a chunk of text or thinking. Consecutive chunks of one kind form one block. */
export function takeChunk(state: TranslateState, chunk: NativeChunk, type: OpenText['type']): Translation {
  const { dialect } = state
  const { content } = chunk
  if (content.type !== 'text') return unknownContent(state, chunk)
  const words = content.text ?? ''
  if (type === 'text' && dialect.modeInText !== undefined && words.startsWith(dialect.modeInText)) {
    return changeMode(state, words.slice(dialect.modeInText.length).trim())
  }
  if (state.replaying) return noOutput(state)
  const text =
    type === 'thinking' && dialect.thoughtHead ? words.replace(new RegExp(dialect.thoughtHead), '') : words
  if (text === '') return noOutput(state)
  const line = parentOf(state, chunk) ?? ''
  const messageId = chunk.messageId ?? undefined
  const continues = (now: TranslateState) => {
    const open = now.open[line]
    return open?.type === type && open.messageId === messageId && open.background === (now.turn === undefined)
  }
  return sequence(
    state,
    (now) => (continues(now) ? noOutput(now) : closeText(now, line)),
    (now) => append(now, line, { type, messageId, text }),
    (now) => (type === 'thinking' && dialect.wholeThoughts ? closeText(now, line) : noOutput(now)),
  )
}

function append(
  state: TranslateState,
  line: string,
  { type, messageId, text }: Pick<OpenText, 'type' | 'messageId' | 'text'>,
): Translation {
  const known = state.open[line]
  const blocks = known ? state.blocks : state.blocks + 1
  const background = state.turn === undefined
  const open: OpenText = known
    ? { ...known, text: known.text + text }
    : { type, messageId, text, background, blockId: ourId(state, `b${blocks}`) }
  const delta: AgentOutput = {
    type: type === 'text' ? 'text.streamed' : 'thinking.streamed',
    blockId: open.blockId,
    text,
    ...parentField(line),
  }
  return {
    state: { ...state, blocks, open: { ...state.open, [line]: open } },
    outputs: [delta],
  }
}

export function closeText(state: TranslateState, line: string): Translation {
  const open = state.open[line]
  if (!open) return noOutput(state)
  const { [line]: _, ...rest } = state.open
  const { type, blockId, text } = open
  const written: AgentOutput = {
    type: type === 'text' ? 'text.written' : 'thinking.written',
    blockId,
    text,
    ...parentField(line),
  }
  return { state: { ...state, open: rest }, outputs: [written] }
}

export function closeTexts(state: TranslateState): Translation {
  return sequence(
    state,
    ...Object.keys(state.open).map((line) => (now: TranslateState) => closeText(now, line)),
  )
}

/** Our id of the call that started the subagent which sent the message. */
export function parentOf(
  { dialect, calls }: TranslateState,
  { _meta }: { readonly _meta?: unknown },
): string | undefined {
  const native = inMeta(_meta, dialect.parentCall)
  return native === undefined ? undefined : calls.get(native)?.id
}

export function parentField(line: string | undefined): { parentToolCallId?: string } {
  return line ? { parentToolCallId: line } : {}
}

function unknownContent(state: TranslateState, native: NativeChunk): Translation {
  if (state.replaying) return noOutput(state)
  const reason = `content of type ${native.content.type} in a message of the agent`
  return { state, outputs: [{ type: 'agent.unrecognised', native, reason }] }
}
