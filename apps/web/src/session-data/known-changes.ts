import type { FileChange } from '@parley/protocol'
import { createStore, useStore } from '../base/store.ts'

type Statuses = ReadonlyMap<string, FileChange['status']>
const none: Statuses = new Map()

/** The last list of changes that this page fetched, and its session. */
const known = createStore<{ readonly sessionId: string; readonly statuses: Statuses }>({
  sessionId: '',
  statuses: none,
})

export function rememberChanges(sessionId: string, files: readonly FileChange[]): void {
  known.set({ sessionId, statuses: new Map(files.map(({ path, status }) => [path, status])) })
}

/**
 * The status of the changed files of a session, from the last list that this page fetched. Fetches nothing.
 */
export function useKnownChanges(sessionId: string): Statuses {
  return useStore(known, (state) => (state.sessionId === sessionId ? state.statuses : none))
}
