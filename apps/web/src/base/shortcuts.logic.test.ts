import { describe, expect, it } from 'vitest'
import {
  actionOf,
  chosenShortcut,
  defaultShortcuts,
  isSingleKey,
  keysIn,
  type Press,
  shortcutOf,
} from './shortcuts.logic.ts'

const press = (key: string, more: Partial<Press> & { altGr?: boolean } = {}): Press => ({
  key,
  code: '',
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  getModifierState: (name) => name === 'AltGraph' && more.altGr === true,
  ...more,
})

describe('the shortcut of a key press', () => {
  it.each([
    ['k', { ctrlKey: true }, 'Ctrl+K'],
    ['k', { metaKey: true }, 'Ctrl+K'],
    ['K', {}, 'K'],
    ['N', { shiftKey: true }, 'Shift+N'],
    ['?', { shiftKey: true }, '?'],
    ['˜', { altKey: true, code: 'KeyN' }, 'Alt+N'],
    ['[', { ctrlKey: true, altKey: true, altGr: true }, '['],
    ['F2', { shiftKey: true }, 'Shift+F2'],
    [' ', {}, 'Space'],
    ['ж', {}, 'Ж'],
  ])('%s with %o is %s', (key, more, shortcut) => {
    expect(shortcutOf(press(key, more))).toBe(shortcut)
  })

  it('is none for a modifier alone', () => {
    expect(shortcutOf(press('Shift', { shiftKey: true }))).toBeUndefined()
  })

  it('is split into its keys, even if one of them is the plus sign', () => {
    expect(['Ctrl+Shift+F', '+', 'Ctrl++'].map(keysIn)).toEqual([
      ['Ctrl', 'Shift', 'F'],
      ['+'],
      ['Ctrl', '+'],
    ])
  })
})

describe('shortcuts', () => {
  it('can be changed and removed, and their defaults do not conflict', () => {
    const chosen = { new: 'Alt+N', inbox: null }
    expect(actionOf('Alt+N', chosen)).toBe('new')
    expect(actionOf('N', chosen)).toBeUndefined()
    expect(chosenShortcut('inbox', chosen)).toBeUndefined()
    const all = Object.values(defaultShortcuts)
    expect(new Set(all).size).toBe(all.length)
  })

  it('that are one character count as single keys, with or without Shift', () => {
    expect(['N', '?', 'Shift+N', 'Ctrl+K', 'F2'].filter(isSingleKey)).toEqual(['N', '?', 'Shift+N'])
  })
})
