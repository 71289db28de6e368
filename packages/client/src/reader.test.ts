import fc from 'fast-check'
import { expect, test } from 'vitest'
import { advance, createReader, restart, startingPoint } from './reader.ts'

const reader = (after = 0, epoch?: string) => {
  const made = createReader({}, { after, epoch })
  made.synced = true
  return made
}

test('the cursor moves only to the next seq', () => {
  const one = reader(4)
  expect(advance(one, 4)).toBe('repeat')
  expect(advance(one, 6)).toBe('gap')
  expect(one.cursor).toBe(4)
  expect(advance(one, 5)).toBe('next')
  expect(one.cursor).toBe(5)
})

test('a reader that is not synced receives nothing', () => {
  const one = reader(4)
  one.synced = false
  expect(advance(one, 5)).toBe('unsynced')
  expect(one.cursor).toBe(4)
})

test('accepted seqs increase by one, whatever arrives', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 })), (seqs) => {
      const one = reader()
      const taken = seqs.filter((seq) => advance(one, seq) === 'next')
      expect(taken).toEqual(taken.map((_, index) => index + 1))
    }),
  )
})

test.each([
  ['a cursor of another epoch', reader(3, 'a'), { epoch: 'b', head: 9, verdict: 'replay' as const }],
  ['a cursor beyond the head', reader(10, 'a'), { epoch: 'a', head: 9, verdict: 'replay' as const }],
  ['a verdict of reset', reader(3), { epoch: 'a', head: 9, verdict: 'reset' as const }],
])('a reader restarts for %s', (_, one, start) => {
  expect(restart(one, start)).toBe(true)
  expect(one).toMatchObject({ cursor: 0, epoch: start.epoch })
})

test('a reader continues in the same log, and drops nothing at the start of a log', () => {
  const one = reader(3, 'a')
  expect(restart(one, { epoch: 'a', head: 3, verdict: 'replay' })).toBe(false)
  expect(one.cursor).toBe(3)
  const fresh = reader()
  expect(restart(fresh, { epoch: 'b', head: 3, verdict: 'reset' })).toBe(false)
  expect(fresh.epoch).toBe('b')
})

test('many readers share the lowest cursor, or the whole log if their epochs differ', () => {
  expect(startingPoint([reader(7, 'a'), reader(3, 'a')])).toEqual({ after: 3, epoch: 'a' })
  expect(startingPoint([reader(7, 'a'), reader(0)])).toEqual({ after: 0 })
  expect(startingPoint([reader(7, 'a'), reader(3, 'b')])).toEqual({ after: 0 })
  expect(startingPoint([])).toEqual({ after: 0 })
})
