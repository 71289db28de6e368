import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compareLines } from './compare.logic.ts'

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 20 })

it('leads from the one to the other', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const steps = compareLines(before, after, 1000)!
      expect(steps.filter(({ type }) => type !== 'added').map(({ text }) => text)).toEqual(before)
      expect(steps.filter(({ type }) => type !== 'removed').map(({ text }) => text)).toEqual(after)
    }),
  )
})

it('takes as few steps as there can be', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const changes = compareLines(before, after, 1000)!.filter(({ type }) => type !== 'same').length
      expect(changes).toBe(before.length + after.length - 2 * common(before, after))
    }),
  )
})

it('gives up where it would take too many', () => {
  expect(compareLines(['a', 'b', 'c'], ['x', 'y', 'z'], 5)).toBeUndefined()
  expect(compareLines(['a', 'b', 'c'], ['x', 'y', 'z'], 6)).toHaveLength(6)
})

function common(one: readonly string[], other: readonly string[]): number {
  const table = Array.from({ length: one.length + 1 }, () => new Array<number>(other.length + 1).fill(0))
  for (let i = 1; i <= one.length; i++)
    for (let j = 1; j <= other.length; j++)
      table[i]![j] =
        one[i - 1] === other[j - 1]
          ? table[i - 1]![j - 1]! + 1
          : Math.max(table[i - 1]![j]!, table[i]![j - 1]!)
  return table[one.length]![other.length]!
}
