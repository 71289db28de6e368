import type { SessionEvent, SessionState } from '@parley/protocol'
import type { StoredEvent } from './session-store.ts'
import { shownRecord, shownState } from './shown-secrets.ts'

/**
 * Told of what a host records, in order and at the moment it happens. It is never waited for: it must return at once,
 * and change nothing that it is given. What it throws is reported, and harms nothing.
 */
export type HostObserver = {
  /** A session came into memory: it was made, or loaded as a restart may have left it. */
  opened(state: SessionState): void
  /** Events that were stored and announced; the state is the one after them. A history that is copied is not told. */
  recorded(events: readonly SessionEvent[], state: SessionState): void
  /** A session is no longer in memory; it may be opened again. */
  left(sessionId: string): void
}

/** Both are told, the first one first. What the first throws does not keep the second from hearing. */
export function bothObservers(first: HostObserver, second: HostObserver): HostObserver {
  const tell = (words: (told: HostObserver) => void) => {
    try {
      words(first)
    } finally {
      words(second)
    }
  }
  return {
    opened: (state) => tell((told) => told.opened(state)),
    recorded: (events, state) => tell((told) => told.recorded(events, state)),
    left: (sessionId) => tell((told) => told.left(sessionId)),
  }
}

/** The same observer, unable to harm whoever tells it something. */
export function guardedObserver(
  observer: HostObserver | undefined,
  problem: (problem: { error: unknown; doing: string; sessionId: string }) => void,
): HostObserver {
  const tell = (sessionId: string, words: (told: HostObserver) => void) => {
    if (!observer) return
    try {
      words(observer)
    } catch (error) {
      problem({ error, doing: 'tell an observer', sessionId })
    }
  }
  return {
    opened: (state) => tell(state.id, (told) => told.opened(shownState(state))),
    recorded: (events, state) =>
      tell(state.id, (told) => told.recorded(events.map(shownRecord), shownState(state))),
    left: (sessionId) => tell(sessionId, (told) => told.left(sessionId)),
  }
}

/** A new session's first events, which were stored before it had a log. */
export function eventsOf(stored: readonly StoredEvent[]): SessionEvent[] {
  return stored.map(({ json }) => JSON.parse(json) as SessionEvent)
}
