import { cached } from '../base/cached.ts'
import { createPersistedStore } from '../base/persisted-store.ts'
import type { Comment } from './comments.logic.ts'

type Unsent = { readonly comments: readonly Comment[] }

export const commentsOf = cached((sessionId: string) =>
  createPersistedStore<Unsent>(`comments:${sessionId}`, { comments: [] }),
)
