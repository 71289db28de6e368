import type { Action } from '../base/shortcuts.logic.ts'

export const actionNames: { readonly [Name in Action]: string } = {
  palette: 'Command palette',
  new: 'New session',
  inbox: 'Inbox',
  previous: 'Previous session',
  next: 'Next session',
  sidebar: 'Collapse or expand the session list',
  prompt: 'Focus the prompt',
  keys: 'Keyboard shortcuts',
  find: 'Find in this session',
  rowBelow: 'Next row',
  rowAbove: 'Previous row',
  latest: 'Jump to latest',
  review: 'Review the changes',
}

const fixed: Readonly<Record<string, string>> = {
  Enter: 'sends',
  'Shift+Enter': 'starts a new line',
  'Ctrl+Enter': 'steers',
  Space: 'presses buttons',
  F6: 'leaves a terminal',
  'Ctrl+Shift+F': 'finds in a terminal',
}
const ofBrowser = new Set([
  ...['Ctrl+N', 'Ctrl+T', 'Ctrl+W', 'Ctrl+Q', 'Ctrl+Shift+N', 'Ctrl+Shift+T', 'Ctrl+Shift+W', 'Alt+F4'],
  ...[
    'Ctrl+C',
    'Ctrl+V',
    'Ctrl+X',
    'Ctrl+A',
    'Ctrl+Z',
    'Ctrl+Y',
    'Ctrl+Shift+Z',
    'Ctrl+R',
    'F5',
    'F11',
    'F12',
  ],
])
const moving = /(?:^|\+)(?:Arrow\w+|Home|End|PageUp|PageDown|Tab|Escape|Backspace|Delete)$/

/** The reason why a shortcut is reserved; undefined if it can be used. */
export function reservedFor(shortcut: string): string | undefined {
  if (fixed[shortcut] !== undefined) return `${shortcut} ${fixed[shortcut]}. Use another key.`
  if (/^[1-9]$/.test(shortcut)) return 'Digits answer requests. Use another key.'
  if (ofBrowser.has(shortcut)) return `The browser uses ${shortcut}. Use another key.`
  if (moving.test(shortcut)) return 'This key moves the focus or edits text. Use another key.'
  return undefined
}
