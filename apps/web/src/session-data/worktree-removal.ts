import { createStore } from '../base/store.ts'

/** The session whose worktree a person is about to remove. `archived`: it was just archived. */
export type WorktreeRemoval = { readonly id: string; readonly title: string; readonly archived?: boolean }

export const worktreeRemoval = createStore<WorktreeRemoval | undefined>(undefined)
