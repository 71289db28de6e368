import { claimFocus } from './focus.ts'
import { createPersistedStore } from './persisted-store.ts'
import type { ChosenShortcuts } from './shortcuts.logic.ts'

export type Theme = 'system' | 'light' | 'dark'

export type Preferences = {
  readonly theme: Theme
  /** Whether all steps and thoughts are expanded. */
  readonly expandAll: boolean
  /** Whether all turns except the last ones are collapsed. */
  readonly collapseTurns: boolean
  readonly notifications: boolean
  /** The keyboard shortcuts that the person changed. */
  readonly shortcuts: ChosenShortcuts
  /** Whether single letters, digits and symbols are shortcuts. */
  readonly singleKeys: boolean
  /** The choices of the last new session. */
  readonly agent?: string
  readonly folder?: string
  readonly sidePanel: 'none' | 'plan' | 'events' | 'changes' | 'files' | 'terminal'
  readonly splitChanges: boolean
  /** Whether the file list is shown above the changes. */
  readonly listFiles: boolean
  /** Whether the changes panel opens by itself with the first change of a session. */
  readonly openChanges: boolean
  /** Whether the session list is collapsed to a narrow bar of buttons. */
  readonly sidebarCollapsed: boolean
  /** The folded groups of the session list, by the ids of their projects. */
  readonly foldedGroups: { readonly [group: string]: true }
  /** Whether long lines of a file are wrapped. */
  readonly wrapLines: boolean
  /** The editor that opens files: a known editor, or an address with `{path}` and `{line}`. */
  readonly editor?: string
  /** Widths in pixels of the panels that the person has resized. */
  readonly panelWidths: { readonly [panel: string]: number | undefined }
}

export const preferences = createPersistedStore<Preferences>('preferences', {
  theme: 'system',
  expandAll: false,
  collapseTurns: false,
  notifications: true,
  shortcuts: {},
  singleKeys: true,
  sidePanel: 'none',
  splitChanges: false,
  listFiles: true,
  openChanges: true,
  sidebarCollapsed: false,
  foldedGroups: {},
  wrapLines: false,
  panelWidths: {},
})

export function setPreferences(change: Partial<Preferences>): void {
  // Only a panel that the person opens takes the focus, not a panel that a reload restores.
  if (change.sidePanel) claimFocus(change.sidePanel)
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
