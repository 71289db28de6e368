import { type Delta, deltaTypes, type EventDraft, type SessionEvent } from '@parley/protocol'
import { expect } from 'vitest'
import { numbered } from '../core/index.ts'
import { ai7 } from './ai-sdk-modules-under-test.ts'
import { plain, readMessage, refusalOf, refusalOfMessages, type Sdk, sdks } from './ai-sdk-under-test.ts'
import { SessionFacts } from './session-facts.ts'
import { TurnChunks, type TurnChunksOptions } from './turn-chunks.ts'
import type { UiChunk } from './ui-chunk.ts'
import type { UiMessage } from './ui-message.ts'
import { UiMessages } from './ui-messages.ts'

/** A turn as a test writes it: events without their common fields, and deltas. */
export type TurnItem = DraftWithoutTurn | DeltaWithoutTurn
type WithoutTurn<Type> = Type extends unknown ? Omit<Type, 'turnId'> : never
type DraftWithoutTurn = WithoutTurn<EventDraft>
type DeltaWithoutTurn = WithoutTurn<Delta>
export type Item = SessionEvent | Delta

export const turnId = 'trn_1'
const before: EventDraft[] = [
  { type: 'session.created', agent: 'demo', cwd: '/somewhere', mode: 'ask', model: 'large' },
  {
    type: 'prompt.submitted',
    promptId: 'prm_1',
    parts: [{ type: 'text', text: 'Tidy up' }],
    delivery: 'queue',
    messageId: 'user-1',
  },
  { type: 'turn.started', turnId, promptId: 'prm_1' },
]

export const done: TurnItem = {
  type: 'turn.ended',
  outcome: 'completed',
  stopReason: 'end_turn',
  durationMs: 5,
}

/** The events and deltas of the session `ses_1`, whose only turn has this content. */
export function itemsOf(said: readonly TurnItem[]): Item[] {
  let seq = 0
  return [...before, ...said].map((one): Item => {
    const whole = { turnId, ...one }
    if (deltaTypes.has(one.type)) return whole as Delta
    seq++
    const { turnId: _, ...outside } = whole
    return numbered((seq <= 2 ? outside : whole) as unknown as EventDraft, 'ses_1', seq, 1000 + seq)
  })
}

export const isEvent = (item: Item): item is SessionEvent => 'seq' in item

/** The chunks of the turn. The events are processed one by one. */
export function chunksOf(items: readonly Item[], options: TurnChunksOptions = {}): UiChunk[] {
  const turn = new TurnChunks(turnId, new SessionFacts('ses_1'), options)
  return items.flatMap((item) => (isEvent(item) ? turn.take(item) : turn.stream(item)))
}

/** The response up to its request, as a page gets it. */
export function askedIn(items: readonly Item[], options: TurnChunksOptions = {}) {
  const turn = new TurnChunks(turnId, new SessionFacts('ses_1'), options)
  const chunks = items.flatMap((item) => (isEvent(item) ? turn.take(item) : turn.stream(item)))
  chunks.push(...turn.settle())
  expect(turn.asking).toBe(true)
  const still = turn.still
  return { chunks: [...chunks, ...turn.pause()], still }
}

export function messageFromLog(items: readonly Item[]): UiMessage {
  const messages = new UiMessages('ses_1')
  for (const item of items) if (isEvent(item)) messages.take(item)
  const message = messages.all().at(-1)
  if (!message) throw new Error('there is no message')
  return plain(message)
}

/**
 * The message of the turn. The readers of both major versions fold it live and from the log, and Parley's own fold
 * must give the same message. Version 6 has no chunk for an answer, so answers are left out of its comparison.
 */
export async function messageOf(...said: TurnItem[]): Promise<UiMessage> {
  const items = itemsOf(said)
  const ours = messageFromLog(items)
  if (ours.parts.length > 0) expect(await refusalOfMessages([ours])).toBeUndefined()
  for (const sdk of sdks) {
    const live = chunksOf(items, { sdk })
    for (const chunk of live) expect(await refusalOf(chunk, sdk)).toBeUndefined()
    const fromLog = chunksOf(items.filter(isEvent), { sdk })
    const folded = comparable((await readMessage(live, sdk)) as UiMessage, sdk)
    expect(folded).toEqual(comparable((await readMessage(fromLog, sdk)) as UiMessage, sdk))
    expect(folded).toEqual(comparable(ours, sdk))
    expect(sendsAgain(folded)).toBe(false)
  }
  return ours
}

/**
 * Removes the answers from approvals. A reader of version 6 gets no answers. If a request is shown twice, a reader of
 * version 7 gets only one answer.
 */
export function comparable(message: UiMessage, sdk: Sdk): UiMessage {
  const approvals = message.parts.flatMap(
    ({ approval }) => (approval as { id: string } | undefined)?.id ?? [],
  )
  if (sdk === 7 && new Set(approvals).size === approvals.length) return message
  const parts = message.parts.map((part) => {
    const { approval, ...rest } = part
    return approval ? { ...rest, approval: { id: (approval as { id: string }).id } } : part
  })
  return { ...message, parts }
}

/** True if a page that uses the AI SDK unchanged sends the message again when its response has ended. */
export function sendsAgain(message: UiMessage): boolean {
  type Options = Parameters<typeof ai7.lastAssistantMessageIsCompleteWithToolCalls>[0]
  const options = { messages: [message] } as unknown as Options
  return (
    ai7.lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
    ai7.lastAssistantMessageIsCompleteWithToolCalls(options)
  )
}

/** Changes a message as `addToolApprovalResponse` and `addToolOutput` change the page's copy. */
export function answered(message: UiMessage, answer: { approved: boolean; output?: unknown }): UiMessage {
  const parts = message.parts.map((part) => {
    if (part.state === 'approval-requested') {
      const approval = { ...(part.approval as object), approved: answer.approved }
      return { ...part, state: 'approval-responded', approval }
    }
    const isQuestion = part.toolName === 'question' && part.state === 'input-available'
    return isQuestion ? { ...part, state: 'output-available', output: answer.output } : part
  })
  return { ...message, parts }
}

type Draft<Type extends EventDraft['type']> = Extract<EventDraft, { type: Type }>

export const text = (words: string, blockId = 'b1'): TurnItem => ({
  type: 'text.written',
  blockId,
  text: words,
})
export const piece = (words: string, offset: number, blockId = 'b1'): TurnItem => ({
  type: 'text.streamed',
  blockId,
  offset,
  text: words,
})
export const called = (toolCallId: string, more: Partial<Draft<'tool-call.called'>> = {}): TurnItem => ({
  type: 'tool-call.called',
  toolCallId,
  name: 'Bash',
  kind: 'execute',
  title: `run ${toolCallId}`,
  input: { command: toolCallId },
  ...more,
})
export const ended = (toolCallId: string, more: Partial<Draft<'tool-call.ended'>> = {}): TurnItem => ({
  type: 'tool-call.ended',
  toolCallId,
  outcome: 'completed',
  content: [{ type: 'text', text: `result of ${toolCallId}` }],
  ...more,
})
export const requested = (
  requestId: string,
  more: Partial<Draft<'permission.requested'>> = {},
): TurnItem => ({
  type: 'permission.requested',
  requestId,
  tool: 'Bash',
  kind: 'execute',
  title: 'run it',
  input: { command: 'x' },
  inputHash: 'hash',
  readOnly: false,
  options: [{ decision: 'allow', scope: 'session', label: 'Allow for the session' }],
  ...more,
})
export const resolved = (requestId: string, more: Partial<Draft<'permission.resolved'>> = {}): TurnItem => ({
  type: 'permission.resolved',
  requestId,
  outcome: 'allowed',
  by: 'person',
  ...more,
})
export const question = {
  id: 'colour',
  header: 'Colour',
  text: 'Which colour?',
  options: [{ label: 'red' }, { label: 'blue' }],
  multiple: false,
  freeText: false,
}
export const asked = (requestId: string, toolCallId?: string): TurnItem => ({
  type: 'question.asked',
  requestId,
  questions: [question],
  ...(toolCallId !== undefined && { toolCallId }),
})
export const questionAnswered = (requestId: string): TurnItem => ({
  type: 'question.resolved',
  requestId,
  outcome: 'answered',
  answers: { colour: 'blue' },
  by: 'person',
})

export const shapes = (message: UiMessage) =>
  message.parts.map(({ type, toolCallId, state }) => [type, toolCallId, state].filter(Boolean).join(' '))
