import { prefer } from '../page/preferences.ts'
import { createStore } from '../page/store.ts'

/** The file that somebody wants to see, and how often that was asked for. */
export const jump = createStore({ path: '', count: 0 })

export function jumpTo(path: string): void {
  jump.set(({ count }) => ({ path, count: count + 1 }))
}

/** The files of a session that somebody wants to see, which may not differ any more. */
export const wanted = createStore<Wanted | undefined>(undefined)
type Wanted = { readonly sessionId: string; readonly paths: readonly string[] }

export function showChanges(sessionId: string, paths: readonly string[]): void {
  wanted.set({ sessionId, paths })
  prefer({ sidePanel: 'changes' })
}
