import { expect, it } from 'vitest'
import { matchOf } from './match.logic.ts'

it('matches names that contain every typed word, and ranks matches at word starts higher', () => {
  expect(matchOf('Rename', 'rename')).toBe(1)
  expect(matchOf('show a permission /home/me/parley-console ses_nam3', 'rename')).toBe(0)
  expect(matchOf('Settings: rules and trust', 'rules TRUST')).toBeCloseTo(0.9)
  expect(matchOf('Settings: rules and trust', 'rust')).toBeCloseTo(0.4)
  expect(matchOf('Settings: rules and trust', 'rules keys')).toBe(0)
  expect(matchOf('anything', '')).toBe(1)
})

it('matches the typed words in any order, and everything if only spaces are typed', () => {
  const names = 'Water the herbs /home/me/garden claude Claude'
  expect(matchOf(names, 'THE garden')).toBeGreaterThan(0)
  expect(matchOf(names, 'claude water')).toBeGreaterThan(0)
  expect(matchOf(names, 'claude tests')).toBe(0)
  expect(matchOf(names, '  ')).toBe(1)
})
