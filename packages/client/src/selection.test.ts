import { expect, test } from 'vitest'
import { createSelection } from './selection.ts'

const same = (one: number[], other: number[]) => one.join() === other.join()

test('the same snapshot gives the same part', () => {
  const snapshot = { list: [3, 1] }
  const part = createSelection({
    getSnapshot: () => snapshot,
    selector: ({ list }) => list.toSorted(),
    isEqual: Object.is,
    shown: () => undefined,
  })
  expect(part()).toBe(part())
})

test('if a part is equal in a new snapshot, the old part is returned; a different part is new', () => {
  let snapshot = { list: [1, 2] }
  const getSnapshot = () => snapshot
  const selector = (one: { list: number[] }) => [...one.list]
  const part = createSelection({ getSnapshot, selector, isEqual: same, shown: () => undefined })
  const first = part()
  snapshot = { list: [1, 2] }
  expect(part()).toBe(first)
  snapshot = { list: [1, 3] }
  expect(part()).toEqual([1, 3])
})

test('a new selector function keeps the part that is shown', () => {
  const shown = { part: [1, 2] }
  const getSnapshot = () => ({ list: [1, 2] })
  const part = createSelection({
    getSnapshot,
    selector: ({ list }) => list,
    isEqual: same,
    shown: () => shown,
  })
  expect(part()).toBe(shown.part)
})
