import type { SessionEvent, SessionState } from '@parley/protocol'
import { shownRecord, shownState } from './shown-secrets.ts'

/**
 * Called with everything that a host records, in order, as it happens. The host does not wait for an observer: an
 * observer must return at once, and must not change its arguments. An error that it throws is reported and has no
 * other effect.
 */
export type HostObserver = {
  /** A session was loaded into memory. It is new or was stored, possibly in the middle of a turn. */
  opened(state: SessionState): void
  /**
   * Events that were stored and announced; `state` is the state after them. The events of a copied log are not
   * reported.
   */
  recorded(events: readonly SessionEvent[], state: SessionState): void
  /** A session was removed from memory; it may be opened again. */
  left(sessionId: string): void
}

/**
 * Calls both observers, the first one first. An exception of the first does not stop the second from being called.
 */
export function bothObservers(first: HostObserver, second: HostObserver): HostObserver {
  const notify = (call: (observer: HostObserver) => void) => {
    try {
      call(first)
    } finally {
      call(second)
    }
  }
  return {
    opened: (state) => notify((one) => one.opened(state)),
    recorded: (events, state) => notify((one) => one.recorded(events, state)),
    left: (sessionId) => notify((one) => one.left(sessionId)),
  }
}

/** The same observer, with its exceptions reported instead of thrown. */
export function guardedObserver(
  observer: HostObserver | undefined,
  problem: (problem: { error: unknown; doing: string; sessionId: string }) => void,
): HostObserver {
  const notify = (sessionId: string, call: (observer: HostObserver) => void) => {
    if (!observer) return
    try {
      call(observer)
    } catch (error) {
      problem({ error, doing: 'notify an observer', sessionId })
    }
  }
  return {
    opened: (state) => notify(state.id, (one) => one.opened(shownState(state))),
    recorded: (events, state) =>
      notify(state.id, (one) => one.recorded(events.map(shownRecord), shownState(state))),
    left: (sessionId) => notify(sessionId, (one) => one.left(sessionId)),
  }
}
