import { ask } from './asked.ts'
import { createKeptStore } from './kept-store.ts'

export type Theme = 'system' | 'light' | 'dark'

export type Preferences = {
  readonly theme: Theme
  /** Show every step and thought unfolded. */
  readonly expandAll: boolean
  readonly notifications: boolean
  /** What the last new session was made with. */
  readonly agent?: string
  readonly folder?: string
  readonly sidePanel: 'none' | 'plan' | 'events' | 'changes' | 'terminal'
  readonly splitChanges: boolean
  /** The names of the files above their changes. */
  readonly listFiles: boolean
  /** What changes are compared with: the last commit, or the one that the session began at. */
  readonly changesSince: 'commit' | 'start'
  /** In pixels, where a person has chosen one. */
  readonly panelWidths: { readonly [panel: string]: number | undefined }
}

export const preferences = createKeptStore<Preferences>('preferences', {
  theme: 'system',
  expandAll: false,
  notifications: true,
  sidePanel: 'none',
  splitChanges: false,
  listFiles: true,
  changesSince: 'commit',
  panelWidths: {},
})

export function prefer(change: Partial<Preferences>): void {
  // A panel that the page shows by itself, after a reload, was not asked for.
  if (change.sidePanel) ask(change.sidePanel)
  preferences.set((before) => ({ ...before, ...change }))
}

export function applyTheme(): void {
  const show = () => {
    const { theme } = preferences.get()
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }
  preferences.subscribe(show)
  show()
}
