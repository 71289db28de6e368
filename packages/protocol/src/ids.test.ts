import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CommandId, newId } from './ids.ts'

const time = fc.integer({ min: 0, max: 2 ** 45 - 1 })

describe('newId', () => {
  it('starts with its prefix and has lower-case characters without look-alikes', () => {
    expect(newId('ses')).toMatch(/^ses_[0-9a-hjkmnp-tv-z]{25}$/)
  })

  it('sorts by age', () => {
    fc.assert(
      fc.property(time, time, (one, other) => {
        fc.pre(one < other)
        expect(newId('ses', one) < newId('ses', other)).toBe(true)
      }),
    )
  })

  it('is unique, even within one millisecond', () => {
    const ids = Array.from({ length: 10_000 }, () => newId('prm', 1))
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('an id from outside', () => {
  it.each([
    ['', false],
    ['x', true],
    ['x'.repeat(200), true],
    ['x'.repeat(201), false],
    [5, false],
  ])('%j is accepted: %s', (value, taken) => {
    expect(CommandId.safeParse(value).success).toBe(taken)
  })
})
