import { hasCode } from '@parley/protocol'
import type { SessionStore } from './session-store.ts'

/**
 * The store for one session under this term: a write is refused once another process owns the session, and `lost` is
 * called. A write to another session, such as a fork, names its own term.
 */
export function fencedStore(store: SessionStore, term: number | undefined, lost: () => void): SessionStore {
  if (term === undefined) return store
  return {
    ...store,
    append: (batch) =>
      store.append({ term, ...batch }).catch((error) => {
        if (isStale(error)) lost()
        throw error
      }),
    checkpoint: (sessionId, blocks) => store.checkpoint(sessionId, blocks, term),
    delete: (sessionId, given = term) => store.delete(sessionId, given),
  }
}

/** Whether a write was refused because another process owns the session now. */
function isStale(thrown: unknown): boolean {
  return hasCode(thrown, 'conflict') && thrown.details?.staleTerm !== undefined
}
