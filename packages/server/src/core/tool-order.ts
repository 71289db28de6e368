import type { DraftOf, EventDraft } from '@parley/protocol'

export type CallDraft =
  | DraftOf<'tool-call.called'>
  | DraftOf<'tool-call.updated'>
  | DraftOf<'tool-call.ended'>

/** The recorded tool calls of a turn. `inOrder` changes them only through the `commit` of its step. */
export type ToolOrder = {
  /** The titles of the calls, by id. */
  readonly called: Map<string, string>
  readonly ended: Set<string>
  /** The updates and results that wait for their calls, by id; at most `maxHeld`, of a limited total size. */
  readonly held: Map<string, CallDraft[]>
}

const maxHeld = 1000
const maxRepeated = 100
/** The limit of the sum of `sizeOf`. A single draft that waits may exceed it. */
const maxHeldSize = 16 * 2 ** 20

const sizes = new WeakMap<CallDraft, number>()

/** The length of the draft as JSON. */
function sizeOf(draft: CallDraft): number {
  const size = sizes.get(draft) ?? JSON.stringify(draft).length
  sizes.set(draft, size)
  return size
}

export type Step = { readonly drafts: EventDraft[]; commit(): void }

export function emptyOrder(): ToolOrder {
  return { called: new Map(), ended: new Set(), held: new Map() }
}

const noCommit = () => undefined

/**
 * Puts the drafts of tool calls in order: a result waits for its call, and a call and its result are recorded once. A
 * second call becomes an update; drafts after the end are recorded as unrecognised messages. If too many drafts wait,
 * or they are too large, the drafts that have waited longest are recorded in the same way.
 */
export function inOrder(order: ToolOrder, draft: CallDraft): Step {
  const id = draft.toolCallId
  if (draft.type === 'tool-call.called') {
    return order.called.has(id) ? { drafts: [updateFrom(draft)], commit: noCommit } : call(order, draft)
  }
  if (!order.called.has(id)) {
    const held = order.held.get(id) ?? []
    if (draft.type === 'tool-call.ended' && held.some((one) => one.type === 'tool-call.ended'))
      return late(draft)
    return hold(order, draft)
  }
  if (order.ended.has(id)) return late(draft)
  if (draft.type === 'tool-call.updated') {
    const { title = order.called.get(id) ?? '' } = draft
    return { drafts: [draft], commit: () => order.called.set(id, title) }
  }
  return { drafts: [draft], commit: () => order.ended.add(id) }
}

function late(draft: CallDraft): Step {
  return { drafts: [unrecognised(draft, 'comes after the end of its call')], commit: noCommit }
}

function hold({ held }: ToolOrder, draft: CallDraft): Step {
  const dropped = oldestOf(held, sizeOf(draft))
  return {
    drafts: dropped.flatMap(([, drafts]) => drafts.map((one) => unrecognised(one, unknownCall))),
    commit() {
      for (const [id] of dropped) held.delete(id)
      held.set(draft.toolCallId, [...(held.get(draft.toolCallId) ?? []), draft])
    },
  }
}

/** The entries to drop, oldest first, so that another draft of the given size can be held. */
function oldestOf(held: ToolOrder['held'], addedSize: number): [string, CallDraft[]][] {
  const drafts = [...held.values()].flat()
  let count = drafts.length
  let size = drafts.reduce((sum, draft) => sum + sizeOf(draft), addedSize)
  return [...held].filter(([, oldest]) => {
    if (count < maxHeld && size <= maxHeldSize) return false
    count -= oldest.length
    size -= oldest.reduce((sum, draft) => sum + sizeOf(draft), 0)
    return true
  })
}

type Result = DraftOf<'tool-call.ended'>

/**
 * Adds a result by the id of its call, and drops the oldest results if there are too many results or they are too
 * large.
 */
export function keepRepeated(repeated: Map<string, Result>, draft: Result): void {
  repeated.set(draft.toolCallId, draft)
  let size = [...repeated.values()].reduce((sum, one) => sum + sizeOf(one), 0)
  for (const [id, oldest] of repeated) {
    if (repeated.size <= maxRepeated && size <= maxHeldSize) return
    size -= sizeOf(oldest)
    repeated.delete(id)
  }
}

const unknownCall = 'the result of an unknown call'

function unrecognised(native: CallDraft, reason: string): EventDraft {
  return { type: 'agent.unrecognised', native, reason }
}

function call(order: ToolOrder, draft: DraftOf<'tool-call.called'>): Step {
  const id = draft.toolCallId
  const held = order.held.get(id) ?? []
  return {
    drafts: [draft, ...held],
    commit() {
      order.called.set(id, draft.title)
      order.held.delete(id)
      if (held.some((one) => one.type === 'tool-call.ended')) order.ended.add(id)
    },
  }
}

/**
 * Called at the end of a turn: returns the results whose calls were never reported. Each follows a call that is
 * inferred from it and marked as inferred. If a result may belong to a call of an earlier turn (`mayBeLate`), no call
 * is invented in this turn: the result is kept as an unrecognised message.
 */
export function flushHeld(order: ToolOrder, mayBeLate = false): EventDraft[] {
  if (mayBeLate) return [...order.held.values()].flat().map((draft) => unrecognised(draft, unknownCall))
  return [...order.held].flatMap(([toolCallId, drafts]): EventDraft[] => [
    {
      type: 'tool-call.called',
      toolCallId,
      name: 'unknown',
      kind: 'other',
      title: 'Unknown call',
      input: null,
      inferred: true,
      ...parentOf(drafts),
    },
    ...drafts,
    ...(drafts.some((draft) => draft.type === 'tool-call.ended')
      ? []
      : [
          {
            type: 'tool-call.ended' as const,
            toolCallId,
            outcome: 'failed' as const,
            content: [],
            ...parentOf(drafts),
          },
        ]),
  ])
}

function parentOf(drafts: readonly CallDraft[]) {
  const parentToolCallId = drafts.find((draft) => draft.parentToolCallId)?.parentToolCallId
  return parentToolCallId ? { parentToolCallId } : {}
}

function updateFrom(draft: DraftOf<'tool-call.called'>): EventDraft {
  const { toolCallId, title, kind, input, locations, parentToolCallId } = draft
  return {
    type: 'tool-call.updated',
    toolCallId,
    title,
    kind,
    input,
    ...(locations && { locations }),
    ...(parentToolCallId && { parentToolCallId }),
  }
}
