import type { SessionEvent, SessionState } from '@parley/protocol'
import { shownRecord, shownState } from './shown-secrets.ts'

/**
 * Called with what a host records, in order, as it happens. The host does not wait for an observer: it must return at
 * once, and must not change its arguments. What it throws is reported and has no other effect.
 */
export type HostObserver = {
  /** A session was loaded into memory. It is new, or in the state in which it was stored, possibly in mid-turn. */
  opened(state: SessionState): void
  /**
   * Events that were stored and announced; `state` is the state after them. The events of a copied log are not
   * reported.
   */
  recorded(events: readonly SessionEvent[], state: SessionState): void
  /** A session is no longer in memory; it may be opened again. */
  left(sessionId: string): void
}

/**
 * Calls both observers, the first one first. An exception of the first does not stop the second from being called.
 */
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

/** The same observer, with its exceptions reported instead of thrown. */
export function guardedObserver(
  observer: HostObserver | undefined,
  problem: (problem: { error: unknown; doing: string; sessionId: string }) => void,
): HostObserver {
  const tell = (sessionId: string, words: (told: HostObserver) => void) => {
    if (!observer) return
    try {
      words(observer)
    } catch (error) {
      problem({ error, doing: 'notify an observer', sessionId })
    }
  }
  return {
    opened: (state) => tell(state.id, (told) => told.opened(shownState(state))),
    recorded: (events, state) =>
      tell(state.id, (told) => told.recorded(events.map(shownRecord), shownState(state))),
    left: (sessionId) => tell(sessionId, (told) => told.left(sessionId)),
  }
}
