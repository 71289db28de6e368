import { claimFocus } from '../base/focus.ts'
import { type Preferences, preferences, setPreferences } from '../base/preferences.ts'
import { replaceRoute } from '../base/route.ts'

/** The panel that was open before the file panel. */
let before: Preferences['sidePanel'] = 'none'

/**
 * Opens the panel that shows the file of the address. `takesFocus` is true if the person opened the file on this page,
 * and false if the page was opened at the address of the file.
 */
export function openFilePanel({ takesFocus }: { readonly takesFocus: boolean }): void {
  before = preferences.get().sidePanel
  if (takesFocus) claimFocus('files')
  preferences.set((chosen) => ({ ...chosen, sidePanel: 'files' }))
}

/** Called when the address has no file any more. Opens the panel that was open before. */
export function leaveFile(): void {
  if (preferences.get().sidePanel === 'files' && before !== 'files') setPreferences({ sidePanel: before })
}

/** Closes the shown file and keeps the panel, which then shows all files. */
export function showAllFiles(sessionId: string): void {
  before = 'files'
  replaceRoute({ name: 'session', id: sessionId })
}
