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
