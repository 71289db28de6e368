/** The actions of the page that have a shortcut, with their default. */
export const defaultShortcuts = {
  palette: 'Ctrl+K',
  new: 'N',
  inbox: 'I',
  previous: '[',
  next: ']',
  sidebar: 'B',
  prompt: '/',
  keys: '?',
  find: 'Ctrl+F',
  rowBelow: 'J',
  rowAbove: 'K',
  latest: 'G',
  review: 'C',
} as const
export type Action = keyof typeof defaultShortcuts

/** The shortcuts that the person changed; null if the person removed the shortcut of an action. */
export type ChosenShortcuts = { readonly [Name in Action]?: string | null }

/** The fields of a key press from which a shortcut is derived. */
export type Press = Pick<
  KeyboardEvent,
  'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey' | 'getModifierState'
>

const modifiers = new Set(['Control', 'Shift', 'Alt', 'Meta', 'AltGraph', 'CapsLock', 'Dead', 'Process'])

/**
 * The shortcut of a key press, such as `Ctrl+K` or `?`; undefined for a modifier alone. The Command key of a
 * Mac counts as Ctrl. `Shift` is included only for keys that give the same character with and without it.
 */
export function shortcutOf(press: Press): string | undefined {
  const { key, code, ctrlKey, metaKey, shiftKey } = press
  if (modifiers.has(key)) return undefined
  // AltGr types a character. Some systems report it as Ctrl and Alt.
  const types = press.getModifierState('AltGraph')
  const command = metaKey || (ctrlKey && !types)
  const alt = press.altKey && !types
  // With Alt, a Mac reports another character, so the letter is taken from the physical key.
  const typed = alt ? (/^(?:Key|Digit)(.)$/.exec(code)?.[1] ?? key) : key
  const isLetter = typed.length === 1 && typed.toLowerCase() !== typed.toUpperCase()
  const name = typed === ' ' ? 'Space' : isLetter ? typed.toUpperCase() : typed
  const shift = shiftKey && (isLetter || command || alt || name.length > 1)
  return [command && 'Ctrl', alt && 'Alt', shift && 'Shift', name].filter(Boolean).join('+')
}

/** Whether a shortcut is a single character, which a person can also press by accident or say to a speech program. */
export function isSingleKey(shortcut: string): boolean {
  return shortcut.replace(/^Shift\+/, '').length === 1
}

/** The keys of a shortcut, for display. */
export function keysIn(shortcut: string): readonly string[] {
  return shortcut.split(/\+(?=.)/)
}

export function chosenShortcut(action: Action, chosen: ChosenShortcuts): string | undefined {
  const own = chosen[action]
  return own === null ? undefined : (own ?? defaultShortcuts[action])
}

export function actionOf(shortcut: string, chosen: ChosenShortcuts): Action | undefined {
  return actions.find((action) => chosenShortcut(action, chosen) === shortcut)
}

const actions = Object.keys(defaultShortcuts) as Action[]
