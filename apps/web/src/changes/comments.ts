import { createPersistedStore } from '../base/persisted-store.ts'
import type { Store } from '../base/store.ts'
import type { Comment } from './comments.logic.ts'

type Kept = { readonly comments: readonly Comment[] }
const stores = new Map<string, Store<Kept>>()

/** The unsent comments of one session. */
export function commentsOf(sessionId: string): Store<Kept> {
  const known = stores.get(sessionId)
  if (known) return known
  const made = createPersistedStore<Kept>(`comments:${sessionId}`, { comments: [] })
  stores.set(sessionId, made)
  return made
}
