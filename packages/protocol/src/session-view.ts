import type { Block } from './block.ts'
import type { Delta } from './delta.ts'
import { isKnown, type SessionEvent, type UnknownEvent } from './event.ts'
import { applyDeltaToState } from './fold-deltas.ts'
import { applyToState } from './fold-state.ts'
import { applyToTimeline, touchesTimeline } from './fold-timeline.ts'
import { emptyState, type SessionState } from './session-state.ts'

/**
 * A session as the fold of its events. The server and every client use this fold. `state` is small and current;
 * `timeline` holds the blocks from some point of the log to its end. The whole view is immutable.
 */
export type SessionView = { readonly state: SessionState; readonly timeline: readonly Block[] }

export function emptyView(sessionId: string, epoch = ''): SessionView {
  return { state: emptyState(sessionId, epoch), timeline: [] }
}

/**
 * Folds one event into the view. An event that the view already has changes nothing; an event of an unknown type
 * changes only `seq` and `updatedAt`.
 */
export function applyEvent(view: SessionView, event: SessionEvent | UnknownEvent): SessionView {
  return applyEvents(view, [event])
}

/** Folds many events into the view, and copies the timeline only once. */
export function applyEvents(
  view: SessionView,
  events: readonly (SessionEvent | UnknownEvent)[],
): SessionView {
  let { state } = view
  const shown: SessionEvent[] = []
  for (const event of events) {
    if (event.seq <= state.seq) continue
    if (!isKnown(event)) {
      state = { ...state, seq: event.seq, updatedAt: event.at }
      continue
    }
    state = applyToState(state, event)
    if (touchesTimeline(event)) shown.push(event)
  }
  const timeline = shown.length > 0 ? applyToTimeline(view.timeline, shown) : view.timeline
  return state === view.state ? view : { state, timeline }
}

export function applyDelta(view: SessionView, delta: Delta): SessionView {
  const state = applyDeltaToState(view.state, delta)
  return state === view.state ? view : { ...view, state }
}
