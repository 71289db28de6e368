import { preferences, setPreferences } from './preferences.ts'
import {
  type Action,
  actionOf,
  chosenShortcut,
  isSingleKey,
  type Press,
  shortcutOf,
} from './shortcuts.logic.ts'
import { useStore } from './store.ts'

/**
 * The action whose shortcut was pressed. Undefined for a single key if the person has switched single keys
 * off.
 */
export function pressedAction(press: Press): Action | undefined {
  const { shortcuts, singleKeys } = preferences.get()
  const shortcut = shortcutOf(press)
  if (shortcut === undefined || (!singleKeys && isSingleKey(shortcut))) return undefined
  return actionOf(shortcut, shortcuts)
}

/**
 * The shortcut of an action. Undefined if it has none, or if it is a single key and single keys are switched
 * off.
 */
export function useShortcut(action: Action): string | undefined {
  return useStore(preferences, ({ shortcuts, singleKeys }) => {
    const shortcut = chosenShortcut(action, shortcuts)
    return shortcut !== undefined && !singleKeys && isSingleKey(shortcut) ? undefined : shortcut
  })
}

/** Sets the shortcut of an action. Null removes it; undefined restores the default. */
export function chooseShortcut(action: Action, shortcut: string | null | undefined): void {
  const { [action]: _, ...others } = preferences.get().shortcuts
  setPreferences({ shortcuts: shortcut === undefined ? others : { ...others, [action]: shortcut } })
}
