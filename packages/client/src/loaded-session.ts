import {
  applyDelta,
  applyEvents,
  applyToTimeline,
  type Delta,
  emptyView,
  isKnown,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type SessionView,
  touchesTimeline,
  type UnknownEvent,
} from '@parley/protocol'
import type { ClientParts } from './client-parts.ts'

/** The loaded end of a session as plain data. A program can store it and later continue from it. */
export type SessionTail = {
  readonly state: SessionState
  /** The events of the timeline, from `firstSeq` on, and before them the earlier prompts that they need. */
  readonly events: readonly SessionEvent[]
  readonly firstSeq: number
}

export type AnyEvent = SessionEvent | UnknownEvent
export type Change = { readonly event: AnyEvent } | { readonly delta: Delta }
export type Loaded = { readonly view: SessionView; readonly kept: SessionEvent[]; readonly firstSeq: number }

const maxPerPage = 5000
/**
 * The maximum number of events by which a stored tail may be behind the log. A client that is further behind loads the
 * end of the log again.
 */
const maxBehind = 1000

export function nothingLoaded(sessionId: string, epoch: string): Loaded {
  return { view: emptyView(sessionId, epoch), kept: [], firstSeq: 1 }
}

export function loadedFrom({ state, events, firstSeq }: SessionTail): Loaded {
  return { view: { state, timeline: applyToTimeline([], events) }, kept: [...events], firstSeq }
}

/** The last events that fit the limits, and the earlier prompts that they need. */
export function tailOf(
  loaded: Loaded,
  limits: { readonly events: number; readonly characters: number },
): SessionTail {
  const { view, firstSeq } = loaded
  const kept = loaded.kept.filter(({ seq }) => seq >= firstSeq)
  let left = limits.characters
  let from = kept.length
  while (from > 0 && kept.length - from < limits.events) {
    left -= JSON.stringify(kept[from - 1]).length
    if (left < 0) break
    from--
  }
  const events = kept.slice(from)
  const above = loaded.kept.slice(0, loaded.kept.length - events.length)
  return {
    state: view.state,
    events: [...neededPrompts(above, events, view.state), ...events],
    firstSeq: from === 0 ? firstSeq : (events[0]?.seq ?? view.state.seq + 1),
  }
}

/** The prompts in `above` whose turns start in `below`, or that are still queued. */
function neededPrompts(
  above: readonly SessionEvent[],
  below: readonly SessionEvent[],
  { queue }: SessionState,
): SessionEvent[] {
  const needed = new Set(queue.map(({ promptId }) => promptId))
  for (const event of below) {
    const starts = event.type === 'turn.started' || event.type === 'prompt.taken'
    if (starts && event.promptId !== undefined) needed.add(event.promptId)
  }
  return above.filter(
    (event) =>
      (event.type === 'prompt.submitted' || event.type === 'prompt.queued') && needed.has(event.promptId),
  )
}

/** Loads the state, and the last events up to the state's `seq`. Tries again if the log was rewritten in between. */
export async function loadTail(input: {
  client: ClientParts
  sessionId: string
  tail: number
  start: Loaded | undefined
  signal: AbortSignal
}): Promise<Loaded> {
  const { client, sessionId, tail, signal } = input
  for (let tries = 0; tries < 5; tries++) {
    const detail = await client.http.call('getSession', {
      params: { id: sessionId },
      query: { tail: 0 },
      signal,
    })
    const { blocks, firstSeq, trusted, terminal, ...state } = detail
    const before = isContinuedBy(input.start, state) ? input.start : nothingBefore(state, tail)
    const limit = state.seq - before.view.state.seq
    if (limit < 1) return { ...before, view: { state, timeline: before.view.timeline } }
    const { events, prompts, epoch } = await readEvents({
      client,
      sessionId,
      before: state.seq + 1,
      limit,
      signal,
    })
    const sameLog = epoch === state.epoch && events.at(-1)?.seq === state.seq
    if (!sameLog) continue
    const shown = events.filter(isShown)
    const known = new Set(before.kept.map(({ seq }) => seq))
    const earlier = (prompts ?? []).filter(isShown).filter(({ seq }) => !known.has(seq))
    if (earlier.length > 0) return refolded(state, [...earlier, ...before.kept, ...shown], before.firstSeq)
    const timeline = applyToTimeline(before.view.timeline, shown)
    return { view: { state, timeline }, kept: [...before.kept, ...shown], firstSeq: before.firstSeq }
  }
  throw new ParleyError(
    'internal_error',
    `The log of session ${sessionId} changed while it was read. Try again.`,
  )
}

/** True if `start` belongs to the same log and is not so far behind that it is faster to load the end again. */
function isContinuedBy(start: Loaded | undefined, state: SessionState): start is Loaded {
  if (!start) return false
  const { epoch, seq } = start.view.state
  return epoch === state.epoch && seq <= state.seq && state.seq - seq <= maxBehind
}

function nothingBefore(state: SessionState, tail: number): Loaded {
  const seq = Math.max(0, state.seq - Math.min(tail, maxPerPage))
  return { view: { state: { ...state, seq }, timeline: [] }, kept: [], firstSeq: seq + 1 }
}

export function readEvents(input: {
  client: ClientParts
  sessionId: string
  before: number
  limit: number
  signal: AbortSignal
}) {
  const { client, sessionId, before, limit, signal } = input
  const query = { before, limit: Math.min(limit, maxPerPage), prompts: 'true' } as const
  return client.http.call('events', { params: { id: sessionId }, query, signal })
}

/**
 * Folds changes in the order in which they came, and keeps the events that a later fold needs. Consecutive
 * events are folded together, with one copy of the timeline.
 */
export function withChanges(loaded: Loaded, changes: readonly Change[]): Loaded {
  if (changes.length === 0) return loaded
  let { view } = loaded
  let run: AnyEvent[] = []
  const fold = () => {
    if (run.length > 0) view = applyEvents(view, run)
    run = []
  }
  for (const change of changes) {
    if ('event' in change) {
      run.push(change.event)
      if (isShown(change.event)) loaded.kept.push(change.event)
      continue
    }
    fold()
    view = applyDelta(view, change.delta)
  }
  fold()
  return { ...loaded, view }
}

function refolded(state: SessionState, events: readonly SessionEvent[], firstSeq: number): Loaded {
  const kept = events.toSorted((one, other) => one.seq - other.seq)
  return { view: { state, timeline: applyToTimeline([], kept) }, kept, firstSeq }
}

/**
 * Adds an older page. Folds the whole range again, because calls and requests of the older page may end in
 * the later events. Blocks that have not changed keep their identity. A prompt that was loaded before its
 * page is in both lists and counts once.
 */
export function withOlder(
  loaded: Loaded,
  above: { readonly events: readonly AnyEvent[]; readonly prompts?: readonly AnyEvent[] | undefined },
): Loaded {
  const bySeq = new Map<number, SessionEvent>()
  for (const event of [...(above.prompts ?? []), ...above.events, ...loaded.kept])
    if (isShown(event)) bySeq.set(event.seq, event)
  const { state } = loaded.view
  const { view, kept, firstSeq } = refolded(state, [...bySeq.values()], above.events[0]?.seq ?? 1)
  const shown = new Map(loaded.view.timeline.map((block) => [block.seq, block]))
  const timeline = view.timeline.map((block) => shown.get(block.seq) ?? block)
  return { kept, firstSeq, view: { ...view, timeline } }
}

function isShown(event: AnyEvent): event is SessionEvent {
  return isKnown(event) && touchesTimeline(event)
}
