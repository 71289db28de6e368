import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, sequence } from '@parley/adapter-kit/translation'
import type { NativeMessageItem, NativePlanItem, NativeReasoningItem } from './native.ts'
import { type Block, parentOf, type TranslateState, type Translation } from './translate-state.ts'

type Piece = { readonly threadId: string; readonly itemId: string; readonly delta: string }
type Written = Block['type']

/** Handlers for the deltas of texts and thinking. */
export const streams = {
  'item/agentMessage/delta': (state: TranslateState, { threadId, itemId, delta }: Piece) =>
    stream(state, 'text', { threadId, blockId: itemId, text: delta }),
  'item/plan/delta': (state: TranslateState, { threadId, itemId, delta }: Piece) =>
    stream(state, 'text', { threadId, blockId: itemId, text: delta }),
  'item/reasoning/summaryTextDelta': (
    state: TranslateState,
    { threadId, itemId, delta, summaryIndex }: Piece & { summaryIndex: number },
  ) => stream(state, 'thinking', { threadId, blockId: summaryId(itemId, summaryIndex), text: delta }),
  'item/reasoning/textDelta': (
    state: TranslateState,
    { threadId, itemId, delta, contentIndex }: Piece & { contentIndex: number },
  ) => stream(state, 'thinking', { threadId, blockId: contentId(itemId, contentIndex), text: delta }),
} as const

export function writeMessage(
  state: TranslateState,
  item: NativeMessageItem | NativePlanItem,
  threadId: string,
): Translation {
  const next = write(state, 'text', { threadId, blockId: item.id, text: item.text })
  if (item.text === '') return next
  return { state: withAnswer(next.state, threadId, item.text), outputs: next.outputs }
}

export function writeReasoning(
  state: TranslateState,
  { id, summary, content }: NativeReasoningItem,
  threadId: string,
): Translation {
  const parts = [
    ...summary.map((text, index) => ({ blockId: summaryId(id, index), text })),
    ...content.map((text, index) => ({ blockId: contentId(id, index), text })),
  ]
  const steps = parts.map((part) => (now: TranslateState) => write(now, 'thinking', { threadId, ...part }))
  return sequence(state, ...steps)
}

/**
 * Called when the model continues with another item, or the person has sent a message. Writes the streamed part
 * of the open text before the new item. `itemId` is the item that starts now.
 */
export function closeOpen(state: TranslateState, threadId: string, itemId: string): Translation {
  const broken = [...state.blocks].filter(
    ([blockId, block]) =>
      block.threadId === threadId &&
      block.turn === state.turn?.number &&
      !block.closed &&
      blockId !== itemId &&
      !blockId.startsWith(`${itemId}:`),
  )
  if (broken.length === 0) return noOutput(state)
  const blocks = new Map(state.blocks)
  for (const [blockId, block] of broken) blocks.set(blockId, { ...block, closed: true })
  const outputs = broken.map(
    ([blockId, { type, text }]): AgentOutput => ({
      type: `${type}.written`,
      blockId,
      text,
      interrupted: true,
      ...parentOf(state, threadId),
    }),
  )
  return { state: { ...state, blocks }, outputs }
}

/** Retracts the streamed part of an answer that broke off: another attempt replaces it. */
export function retractOpen(state: TranslateState, threadId: string): Translation {
  const open = [...state.blocks].filter(([, block]) => block.threadId === threadId && !block.closed)
  const outputs = open
    .filter(([, { turn }]) => turn === state.turn?.number)
    .map(([blockId]): AgentOutput => {
      return {
        type: 'block.retracted',
        blockId,
        reason: 'the response was interrupted; the agent tries again',
      }
    })
  return { state: withoutBlocks(state, threadId), outputs }
}

export function withoutBlocks(state: TranslateState, threadId: string): TranslateState {
  const kept = [...state.blocks].filter(([, block]) => block.threadId !== threadId)
  return kept.length === state.blocks.size ? state : { ...state, blocks: new Map(kept) }
}

function summaryId(itemId: string, index: number): string {
  return `${itemId}:s${index}`
}

function contentId(itemId: string, index: number): string {
  return `${itemId}:c${index}`
}

type Words = { readonly threadId: string; readonly blockId: string; readonly text: string }

function stream(state: TranslateState, type: Written, { threadId, blockId, text }: Words): Translation {
  if (text === '' || state.blocks.get(blockId)?.closed) return noOutput(state)
  const open = state.blocks.get(blockId) ?? { threadId, type, text: '', turn: state.turn?.number }
  const blocks = new Map(state.blocks).set(blockId, { ...open, text: open.text + text })
  const outputs: AgentOutput[] =
    open.turn === state.turn?.number
      ? [{ type: `${type}.streamed`, blockId, text, ...parentOf(state, threadId) }]
      : []
  return { state: { ...state, blocks }, outputs }
}

/**
 * Writes the whole block under the id of its deltas. If its text differs from its deltas, the block is retracted and
 * written under a new id. If the block started in an earlier turn, that turn has the streamed part, and the whole text
 * is written in this turn under a new id. A closed block with the same text is not written again.
 */
function write(state: TranslateState, type: Written, { threadId, blockId, text }: Words): Translation {
  const open = state.blocks.get(blockId)
  const blocks = new Map(state.blocks)
  blocks.delete(blockId)
  const next = open ? { ...state, blocks } : state
  const written = (id: string): AgentOutput[] =>
    text === '' ? [] : [{ type: `${type}.written`, blockId: id, text, ...parentOf(state, threadId) }]
  if (open?.closed && open.text === text) return noOutput(next)
  if (!open || (open.text === text && open.turn === state.turn?.number)) {
    return { state: next, outputs: written(blockId) }
  }
  if (open.turn !== state.turn?.number) return { state: next, outputs: written(`${blockId}:${state.turns}`) }
  const retracted: AgentOutput = {
    type: 'block.retracted',
    blockId,
    reason: 'the final text differs from the streamed text',
  }
  return { state: next, outputs: [retracted, ...written(`${blockId}:whole`)] }
}

function withAnswer(state: TranslateState, threadId: string, answer: string): TranslateState {
  if (threadId === state.threadId) {
    return state.turn ? { ...state, turn: { ...state.turn, answer } } : state
  }
  const subagent = state.subagents.get(threadId)
  if (!subagent) return state
  return { ...state, subagents: new Map(state.subagents).set(threadId, { ...subagent, answer }) }
}
