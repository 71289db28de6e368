import { withKeys } from '../base/key-names.ts'
import { preferences, setPreferences } from '../base/preferences.ts'

let takesFocus = false

/** Collapses or expands the session list. */
export function toggleSidebar(): void {
  takesFocus = document.activeElement?.closest('nav[aria-label=Sessions]') !== null
  setPreferences({ sidebarCollapsed: !preferences.get().sidebarCollapsed })
}

/**
 * A ref of the button that collapses or expands the list. The button gets the focus if it replaces the
 * focused button.
 */
export function focusAfterToggle(button: HTMLButtonElement | null): void {
  // The other button is removed first, and passes null.
  if (!button || !takesFocus) return
  takesFocus = false
  button.focus()
}

export function withShortcut(name: string, shortcut: string | undefined): string {
  return shortcut === undefined ? name : withKeys(`${name} (${shortcut})`)
}
