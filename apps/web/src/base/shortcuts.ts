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

/** The action whose shortcut was pressed. Single keys have none if the person has switched them off. */
export function pressedAction(press: Press): Action | undefined {
  const { shortcuts, singleKeys } = preferences.get()
  const shortcut = shortcutOf(press)
  if (shortcut === undefined || (!singleKeys && isSingleKey(shortcut))) return undefined
  return actionOf(shortcut, shortcuts)
}

/** The shortcut of an action, if it has one that works. */
export function useShortcut(action: Action): string | undefined {
  return useStore(preferences, ({ shortcuts, singleKeys }) => {
    const shortcut = chosenShortcut(action, shortcuts)
    return shortcut !== undefined && !singleKeys && isSingleKey(shortcut) ? undefined : shortcut
  })
}

/** Gives an action a shortcut, or takes it away (null). Undefined restores the default. */
export function chooseShortcut(action: Action, shortcut: string | null | undefined): void {
  const { [action]: _, ...others } = preferences.get().shortcuts
  setPreferences({ shortcuts: shortcut === undefined ? others : { ...others, [action]: shortcut } })
}
