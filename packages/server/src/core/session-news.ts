import {
  defined,
  type SessionEvent,
  type SessionState,
  type SessionSummary,
  summarise,
} from '@parley/protocol'

export type SessionChange = {
  readonly session: string
  readonly change: 'created' | 'changed' | 'deleted'
  readonly summary?: SessionSummary
}

/** Notifies listeners of changes that the session list should show. */
export type SessionNews = {
  /** Calls the listener for every such change. The returned function removes the listener. */
  onSessionChanged(listener: (change: SessionChange) => void): () => void
  created(state: SessionState): void
  /** `awaits` is the place of the session, if that place is awaited. */
  recorded(events: readonly SessionEvent[], state: SessionState, awaits?: string): void
  /** The log of the session was rewritten. */
  rewritten(state: SessionState): void
  deleted(sessionId: string): void
}

/** `place` is the place of the announced sessions' folders, if several processes share the store. */
export function createSessionNews(
  problem: (problem: { error: unknown; doing: string; sessionId: string }) => void,
  place?: string,
): SessionNews {
  const summaryOf = (state: SessionState, awaits?: string) => ({
    ...summarise(state),
    ...defined({ place: awaits ?? place, awaits }),
  })
  const listeners = new Set<(change: SessionChange) => void>()

  function notify(change: SessionChange): void {
    for (const listener of listeners) {
      try {
        listener(change)
      } catch (error) {
        problem({ error, doing: 'announce a change', sessionId: change.session })
      }
    }
  }

  return {
    onSessionChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    created: (state) => notify({ session: state.id, change: 'created', summary: summaryOf(state) }),
    recorded(events, state, awaits) {
      if (listeners.size === 0 || !events.some(isShown)) return
      notify({ session: state.id, change: 'changed', summary: summaryOf(state, awaits) })
    },
    rewritten: (state) => notify({ session: state.id, change: 'changed', summary: summaryOf(state) }),
    deleted: (session) => notify({ session, change: 'deleted' }),
  }
}

/** True for events that change the entry of a session in the session list. */
function isShown(event: SessionEvent): boolean {
  if (event.type === 'snapshot.taken') return event.changed !== undefined
  return /^(session|turn|prompt\.submitted|permission|question|worktree|check|attempt)/.test(event.type)
}
