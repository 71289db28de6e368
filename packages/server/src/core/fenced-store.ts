import { hasCode } from '@parley/protocol'
import type { SessionStore } from './session-store.ts'

/**
 * Wraps the store for one session under this term. Once another process owns the session, writes are refused and `lost`
 * is called. A write to another session, such as a fork, names its own term.
 */
export function fencedStore(store: SessionStore, term: number | undefined, lost: () => void): SessionStore {
  if (term === undefined) return store
  const refused = (error: unknown): never => {
    if (isStale(error)) lost()
    throw error
  }
  return {
    ...store,
    append: (batch) => store.append({ term, ...batch }).catch(refused),
    checkpoint: (sessionId, blocks) => store.checkpoint(sessionId, blocks, term).catch(refused),
    redact: (batch) => store.redact({ term, ...batch }).catch(refused),
    delete: (sessionId, given = term, ledger) => store.delete(sessionId, given, ledger),
  }
}

/** True if a write was refused because another process owns the session now. */
function isStale(thrown: unknown): boolean {
  return hasCode(thrown, 'conflict') && thrown.details?.staleTerm !== undefined
}
