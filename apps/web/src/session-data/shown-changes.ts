import { setPreferences } from '../base/preferences.ts'
import { createStore } from '../base/store.ts'

/** The file to scroll to. `count` distinguishes two requests for the same file. */
export const jump = createStore({ path: '', count: 0 })

export function jumpTo(path: string): void {
  jump.set(({ count }) => ({ path, count: count + 1 }))
}

/** The files of a session to show in the changes panel. They may have no changes any more. */
export const requestedFiles = createStore<RequestedFiles | undefined>(undefined)
type RequestedFiles = { readonly sessionId: string; readonly paths: readonly string[] }

export function showChanges(sessionId: string, paths: readonly string[]): void {
  requestedFiles.set({ sessionId, paths })
  setPreferences({ sidePanel: 'changes' })
}
