import {
  applyToState,
  applyToTimeline,
  type Block,
  emptyState,
  inReadingOrder,
  isKnown,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
  unredacted,
} from '@parley/protocol'

export type Told = {
  readonly state: SessionState
  /** The timeline in reading order, without prompts that the agent has not received and blocks that were taken back. */
  readonly blocks: readonly Block[]
  /** The seq of the last event. */
  readonly seq: number
}

/**
 * Folds the events before a prompt: before its turn began, or before the agent took it up. Throws ParleyError
 * `not_found` if there is no such prompt.
 */
export function foldBefore(events: readonly (SessionEvent | UnknownEvent)[], before?: string): Told {
  const end = before === undefined ? events.length : indexOfPrompt(events, before)
  const known: SessionEvent[] = []
  let state = emptyState(events[0]?.sessionId ?? '', '')
  for (let index = 0; index < end; index++) {
    const event = events[index]!
    if (!isKnown(event)) continue
    known.push(event)
    state = applyToState(state, event)
  }
  const blocks = inReadingOrder(applyToTimeline([], known)).filter(isTold)
  return { state, blocks, seq: events[end - 1]?.seq ?? 0 }
}

/**
 * False for a block that was taken back, and for a prompt without a turn: it is still queued, or was submitted as the
 * last event.
 */
function isTold(block: Block): boolean {
  if (block.takenBack !== undefined) return false
  return block.type !== 'prompt' || (block.status === 'sent' && block.turnId !== undefined)
}

const begins = ['turn.started', 'prompt.taken', 'prompt.submitted'] as const

/** The index of the event with which the work on a prompt began. */
function indexOfPrompt(events: readonly (SessionEvent | UnknownEvent)[], promptId: string): number {
  for (const type of begins) {
    const index = events.findIndex((given) => {
      if (!isKnown(given)) return false
      const event = unredacted(given)
      return event.type === type && event.promptId === promptId
    })
    if (index >= 0) return index
  }
  throw new ParleyError(
    'not_found',
    `The session has no prompt ${promptId}. List its events to see its prompts.`,
  )
}
