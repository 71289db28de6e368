import { expect, test } from 'vitest'
import { createBackoff } from './backoff.ts'

test('delays grow to their limit, and start again after a reset', () => {
  const backoff = createBackoff({ baseMs: 100, maxMs: 1000, random: () => 0.999_999 })
  const waits = Array.from({ length: 6 }, () => Math.round(backoff.next()))
  expect(waits).toEqual([100, 200, 400, 800, 1000, 1000])
  backoff.reset()
  expect(Math.round(backoff.next())).toBe(100)
})

test('jitter is full: the delay is anything from zero to the limit', () => {
  let value = 0
  const backoff = createBackoff({ baseMs: 100, maxMs: 100, random: () => value })
  expect(backoff.next()).toBe(0)
  value = 0.5
  expect(backoff.next()).toBe(50)
})

test('the delay does not overflow after a thousand losses', () => {
  const backoff = createBackoff({ maxMs: 15_000, random: () => 1 })
  for (let i = 0; i < 1000; i++) backoff.next()
  expect(backoff.next()).toBe(15_000)
})
