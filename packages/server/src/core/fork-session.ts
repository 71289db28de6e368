import {
  applyToState,
  emptyState,
  isKnown,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { SessionStore, StoredEvent } from './session-store.ts'

const pageSize = 1000

/** Copies a log into a new session, under the same numbers. Goes on where an earlier, interrupted copy stopped. */
export async function copyForFork(
  store: SessionStore,
  parent: SessionState,
  child: string,
  title: string | undefined,
): Promise<void> {
  const existing = await store.load(child)
  const forkedFrom = { sessionId: parent.id, seq: parent.seq }
  let state = existing?.state ?? emptyState(child, `${parent.epoch}-fork`)
  while (state.seq < parent.seq) {
    const page = await store.read(parent.id, {
      after: state.seq,
      limit: Math.min(pageSize, parent.seq - state.seq),
    })
    if (page.length === 0) return
    const created = state.seq === 0
    const events = page.map(({ seq, json }): StoredEvent => {
      const event = { ...(JSON.parse(json) as SessionEvent | UnknownEvent), sessionId: child }
      const copy =
        event.type === 'session.created'
          ? { ...event, forkedFrom, title: title ?? `${parent.title} (fork)` }
          : event
      state = isKnown(copy) ? applyToState(state, copy) : { ...state, seq }
      return { seq, json: JSON.stringify(copy) }
    })
    state = { ...state, connected: false }
    if (created) await store.create({ sessionId: child, epoch: state.epoch, events, state })
    else await store.append({ sessionId: child, events, state })
  }
}
