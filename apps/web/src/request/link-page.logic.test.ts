import { expect, test } from 'vitest'
import { timeLeft } from './link-page.logic.ts'

const minute = 60_000

test.each([
  [0, 'expired'],
  [-minute, 'expired'],
  [1, 'works for a minute'],
  [minute, 'works for a minute'],
  [minute + 1, 'works for 2 minutes'],
  [119 * minute, 'works for 119 minutes'],
  [120 * minute, 'works for 2 hours'],
  [1440 * minute, 'works for 24 hours'],
])('a link that expires in %i ms is described as "%s"', (left, said) => {
  expect(timeLeft(1_000_000 + left, 1_000_000)).toBe(said)
})
