import { noOutput, notice, sequence, working } from '@parley/adapter-kit/translation'
import {
  ignoredItems,
  type NativeCallItem,
  type NativeCompactionItem,
  type NativeItem,
  type NativeMessageItem,
  type NativePlanItem,
  type NativeReasoningItem,
  type NativeReviewItem,
} from './native.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'
import { closeOpen, writeMessage, writeReasoning } from './translate-stream.ts'
import { endCall, startCall } from './translate-tool-call.ts'

type OfItem = { readonly threadId: string; readonly item: NativeItem }
type Translate<Item> = (state: TranslateState, item: Item, threadId: string) => Translation
type Kind<Item> = { readonly started: Translate<Item>; readonly completed: Translate<Item> }

const call: Kind<NativeCallItem> = { started: startCall, completed: endCall }

/** One entry for every kind of item that is not ignored. */
export const itemKinds = {
  agentMessage: { started: noOutput, completed: writeAnswer },
  plan: { started: noOutput, completed: writeMessage as Translate<NativePlanItem> },
  reasoning: { started: noOutput, completed: writeReasoning as Translate<NativeReasoningItem> },
  commandExecution: call,
  fileChange: call,
  mcpToolCall: call,
  dynamicToolCall: call,
  collabAgentToolCall: call,
  subAgentActivity: call,
  webSearch: call,
  imageView: call,
  sleep: call,
  imageGeneration: call,
  functionCallOutput: call,
  enteredReviewMode: { started: noOutput, completed: enterReview },
  exitedReviewMode: { started: noOutput, completed: exitReview },
  contextCompaction: { started: beginCompaction, completed: compact },
} as const

/**
 * Items that end an open text: a message of the person, or the next text of the model. A call does not end it,
 * because a call may start while the model still writes.
 */
const closing: ReadonlySet<string> = new Set(['userMessage', 'agentMessage', 'reasoning', 'plan'])

export function startItem(state: TranslateState, { item, threadId }: OfItem): Translation {
  return sequence(
    state,
    (now) => (closing.has(item.type) ? closeOpen(now, threadId, item.id) : noOutput(now)),
    (now) => byKind(item, 'started')(now, item as never, threadId),
  )
}

export function completeItem(state: TranslateState, { item, threadId }: OfItem): Translation {
  return byKind(item, 'completed')(state, item as never, threadId)
}

function byKind(item: NativeItem, when: 'started' | 'completed'): Translate<never> {
  const { type } = item
  if (Object.hasOwn(ignoredItems, type)) return noOutput
  if (!Object.hasOwn(itemKinds, type)) throw new Error(`an item of the unknown kind ${type}`)
  return itemKinds[type as keyof typeof itemKinds][when] as Translate<never>
}

function writeAnswer(state: TranslateState, item: NativeMessageItem, threadId: string): Translation {
  const written = writeMessage(state, item, threadId)
  const { questions } = item
  if (!questions || questions.length === 0) return written
  const text = questions.map(({ title }) => title).join('\n')
  const more = { data: questions, ...parentOf(state, threadId) }
  return {
    state: written.state,
    outputs: [...written.outputs, notice('info', 'asks-in-passing', text, more)],
  }
}

function enterReview(state: TranslateState, { review }: NativeReviewItem): Translation {
  return { state, outputs: [notice('info', 'review', `Codex reviews: ${review}`)] }
}

function exitReview(state: TranslateState, { id, review }: NativeReviewItem, threadId: string): Translation {
  return writeMessage(state, { type: 'plan', id, text: review }, threadId)
}

function beginCompaction(state: TranslateState): Translation {
  return { state, outputs: [working('Compacting')] }
}

function compact(state: TranslateState, _item: NativeCompactionItem, threadId: string): Translation {
  if (threadId !== state.threadId) return noOutput(state)
  const { context } = state.usage
  return {
    state,
    outputs: [
      {
        type: 'context.compacted',
        trigger: state.turn?.compacting ? 'manual' : 'auto',
        ...(context > 0 && { before: context }),
      },
    ],
  }
}
