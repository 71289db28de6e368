import { expect, it } from 'vitest'
import { defaultShortcuts } from '../base/shortcuts.logic.ts'
import { reservedFor } from './recordable-keys.logic.ts'

it('keys of the browser, and keys that answer, edit or move, cannot be shortcuts', () => {
  const taken = ['Ctrl+T', '3', 'Enter', 'Shift+Tab', 'Ctrl+ArrowLeft', 'Ctrl+C', 'F6'].map(reservedFor)
  expect(taken).not.toContain(undefined)
  expect(reservedFor('Alt+3')).toBeUndefined()
  expect(Object.values(defaultShortcuts).map(reservedFor).filter(Boolean)).toEqual([])
})
