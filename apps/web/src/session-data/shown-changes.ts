import type { ChangeScope } from '@parley/protocol'
import { setPreferences } from '../base/preferences.ts'
import { createStore, useStore } from '../base/store.ts'
import { useSessionId, useSessionState } from './session-context.tsx'

/**
 * The comparison that the changes panel of a session shows. `turnId` is for the scope `turn`; without it, the
 * last turn is shown.
 */
export type Comparison = { readonly scope: ChangeScope; readonly turnId?: string }

type Opening = Partial<Comparison> & {
  /** The files to show, relative to the folder of the session. The panel scrolls to the first of them. */
  readonly paths?: readonly string[]
}

/** Opens the changes panel of a session: `openChanges(sessionId, { scope: 'turn', turnId })`. */
export function openChanges(sessionId: string, { scope, turnId, paths }: Opening = {}): void {
  if (scope !== undefined) setComparison(sessionId, { scope, ...(turnId !== undefined && { turnId }) })
  requestedFiles.set({ sessionId, paths: paths ?? [] })
  setPreferences({ sidePanel: 'changes' })
}

/** The comparison that was chosen for a session, until the page is reloaded. */
const chosen = createStore<{ readonly [sessionId: string]: Comparison | undefined }>({})

export function setComparison(sessionId: string, comparison: Comparison): void {
  chosen.set((before) => ({ ...before, [sessionId]: comparison }))
}

/** The comparison that the panel of the open session shows. */
export function useComparison(): Comparison {
  const sessionId = useSessionId()
  const comparison = useStore(chosen, (all) => all[sessionId])
  // A folder without a commit can only be compared with its snapshots.
  const hasCommit = useSessionState((state) => state.startCommit !== undefined)
  return comparison ?? { scope: hasCommit ? 'commit' : 'session' }
}

/** The parameters of a comparison in a request. */
export function queryOf({ scope, turnId }: Comparison) {
  return { scope, ...(turnId !== undefined && { turn: turnId }) }
}

/** The file to scroll to. `count` distinguishes two requests for the same file. */
export const jump = createStore({ path: '', count: 0 })

export function jumpTo(path: string): void {
  jump.set(({ count }) => ({ path, count: count + 1 }))
}

/** The files of a session to show in the changes panel. They may have no changes any more. */
export const requestedFiles = createStore<RequestedFiles | undefined>(undefined)
type RequestedFiles = { readonly sessionId: string; readonly paths: readonly string[] }
