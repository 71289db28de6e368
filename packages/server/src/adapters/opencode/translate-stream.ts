import type { ReasoningPart, TextPart } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, sequence } from '@parley/adapter-kit/translation'
import type { NativeProperties } from './native.ts'
import {
  type OpenBlock,
  parentOf,
  type TranslateState,
  type Translation,
  withDone,
  withinTurn,
} from './translate-state.ts'

/**
 * Translates a text or thinking block, which starts empty, grows by deltas, and is complete at its end. `gap`: events
 * before this one were missed. OpenCode stores no unfinished text, so after a gap only the end of the block contains
 * the whole text.
 */
export function translateBlock(
  state: TranslateState,
  part: TextPart | ReasoningPart,
  gap = false,
): Translation {
  if (state.done.has(part.id)) return rest(state, part)
  if (state.messages.get(part.messageID)?.summary) return takeSummary(state, part)
  const open = state.blocks.get(part.id)
  if (part.time?.end !== undefined) return finish(state, part, open)
  const type = part.type === 'text' ? 'text' : 'thinking'
  const { sessionID, messageID } = part
  const known = open ?? { type, sessionID, messageID, text: '', gapped: false }
  const more = part.text.startsWith(known.text) ? part.text.slice(known.text.length) : ''
  const block = { ...known, text: known.text + more, gapped: known.gapped || gap }
  return {
    state: withBlock(state, part.id, block),
    outputs: more === '' ? [] : [piece(state, part.id, block, more)],
  }
}

export function translateDelta(
  state: TranslateState,
  { partID, field, delta }: NativeProperties<'message.part.delta'>,
): Translation {
  if (field !== 'text') throw new Error(`a delta of ${field}`)
  const block = state.blocks.get(partID)
  if (!block || block.gapped) return noOutput(state)
  return {
    state: withBlock(state, partID, { ...block, text: block.text + delta }),
    outputs: [piece(state, partID, block, delta)],
  }
}

/**
 * Called when the event stream broke off: from now on, deltas of open blocks are ignored, since some were
 * missed.
 */
export function withGap(state: TranslateState): TranslateState {
  const blocks = [...state.blocks].map(([id, block]) => [id, { ...block, gapped: true }] as const)
  return { ...state, blocks: new Map(blocks) }
}

/**
 * Called when the model starts a step. Retracts blocks that are still open in the same message: they belong to an
 * attempt that broke off. Only blocks with smaller ids than the step are retracted, because the event may be repeated
 * after a gap.
 */
export function beginAttempt(
  state: TranslateState,
  { id, messageID }: { readonly id: string; readonly messageID: string },
): Translation {
  const isMeant = (open: string, message: string) => message === messageID && open < id
  return retractOpen(state, isMeant, 'the response was interrupted; the agent tries again')
}

/** Retracts open blocks, which will not be completed. */
export function retractOpen(
  state: TranslateState,
  isMeant: (id: string, messageID: string) => boolean,
  reason: string,
): Translation {
  const blocks = [...state.blocks].filter(([id, { messageID }]) => isMeant(id, messageID))
  const drafts = [...state.calls].filter(
    ([id, { called, messageID }]) => !called && !state.done.has(id) && isMeant(id, messageID),
  )
  const reported = [
    ...blocks.flatMap(([id, { text }]) => (text === '' ? [] : [id])),
    ...drafts.map(([id]) => id),
  ]
  const gone = new Set([...blocks, ...drafts].map(([id]) => id))
  return {
    state: {
      ...state,
      blocks: new Map([...state.blocks].filter(([id]) => !gone.has(id))),
      done: new Set([...state.done, ...gone]),
    },
    outputs: reported.map((blockId) => ({ type: 'block.retracted', blockId, reason })),
  }
}

/**
 * Completes the texts before a call in the same message, though OpenCode may end them later. In the log they precede
 * the call, in the order in which they were written.
 */
export function finishBefore(
  state: TranslateState,
  { id: before, messageID }: { readonly id: string; readonly messageID: string },
): Translation {
  const complete = [...state.blocks].filter(
    ([id, open]) => open.messageID === messageID && id <= before && !open.gapped && open.text !== '',
  )
  return sequence(
    state,
    ...complete.map(([id, open]) => (now: TranslateState) => {
      const { text, sessionID } = open
      const type = open.type === 'text' ? 'text' : 'reasoning'
      const { state: done, outputs } = finish(now, { id, type, text, sessionID, messageID }, open)
      return { state: { ...done, early: new Map(done.early).set(id, text) }, outputs }
    }),
  )
}

/** If a text continued after it was completed, writes the rest as a separate block, so that no text is lost. */
function rest(state: TranslateState, part: TextPart | ReasoningPart): Translation {
  const reported = state.early.get(part.id)
  if (reported === undefined || part.time?.end === undefined || !part.text.startsWith(reported))
    return noOutput(state)
  const text = part.text.slice(reported.length)
  const early = new Map(state.early)
  early.delete(part.id)
  if (text.trim() === '') return noOutput({ ...state, early })
  return finish({ ...state, early }, { ...part, id: `${part.id}-rest`, text }, undefined)
}

type Finished = Pick<TextPart | ReasoningPart, 'id' | 'type' | 'text' | 'sessionID' | 'messageID'>

function finish(state: TranslateState, part: Finished, open: OpenBlock | undefined): Translation {
  const { id, text, sessionID, messageID } = part
  const type = part.type === 'text' ? 'text' : 'thinking'
  const reported = open?.text ?? ''
  const done = withinTurn(withoutBlock(withDone(state, id), id), () =>
    type === 'text' && sessionID === state.root && text !== '' ? { text } : {},
  )
  if (text === '') {
    const retracted: AgentOutput = { type: 'block.retracted', blockId: id, reason: 'it is empty' }
    return { state: done, outputs: reported === '' ? [] : [retracted] }
  }
  const more = reported !== '' && text.startsWith(reported) ? text.slice(reported.length) : ''
  const block = { type, sessionID, messageID, text, gapped: false } as const
  return {
    state: done,
    outputs: [
      ...(more === '' ? [] : [piece(state, id, block, more)]),
      { type: `${type}.written`, blockId: id, text, ...parentOf(state, sessionID) },
    ],
  }
}

function takeSummary(state: TranslateState, part: TextPart | ReasoningPart): Translation {
  const { compaction } = state
  if (part.type !== 'text' || part.time?.end === undefined || !compaction) return noOutput(state)
  return noOutput({
    ...withDone(state, part.id),
    compaction: { ...compaction, summary: compaction.summary + part.text },
  })
}

function piece(state: TranslateState, blockId: string, { type, sessionID }: OpenBlock, text: string) {
  return { type: `${type}.streamed`, blockId, text, ...parentOf(state, sessionID) } as const
}

function withBlock(state: TranslateState, id: string, block: OpenBlock): TranslateState {
  return { ...state, blocks: new Map(state.blocks).set(id, block) }
}

function withoutBlock(state: TranslateState, id: string): TranslateState {
  const blocks = new Map(state.blocks)
  blocks.delete(id)
  return { ...state, blocks }
}
