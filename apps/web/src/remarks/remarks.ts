import { cached } from '../base/cached.ts'
import { createPersistedStore } from '../base/persisted-store.ts'
import type { Remark } from './remarks.logic.ts'

/** Stored under the names that earlier builds used, so that unsent remarks are kept. */
type Unsent = { readonly comments: readonly Remark[] }

export const remarksOf = cached((sessionId: string) =>
  createPersistedStore<Unsent>(`comments:${sessionId}`, { comments: [] }),
)
