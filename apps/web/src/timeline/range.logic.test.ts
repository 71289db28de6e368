import { expect, test } from 'vitest'
import { createRange } from './range.logic.ts'

const seen = (startIndex: number, endIndex: number) => ({
  startIndex,
  endIndex,
  overscan: 4,
  count: 1000,
  lanes: 1,
})
const ends = (indexes: readonly number[]) => [indexes[0], indexes.at(-1)]

test('rows in view and some around them are rendered, in order', () => {
  const indexes = createRange()(seen(100, 120))
  expect(ends(indexes)).toEqual([96, 124])
  expect(indexes).toEqual(indexes.map((_, at) => 96 + at))
})

test('rows that scrolled out above are removed in batches', () => {
  const range = createRange()
  range(seen(100, 120))
  const firsts = Array.from({ length: 8 }, (_, step) => range(seen(101 + step, 121 + step))[0])
  expect(firsts).toEqual([96, 96, 96, 96, 96, 96, 103, 103])
})

test('rows above are rendered as soon as they are needed, and none beyond the ends', () => {
  const range = createRange()
  range(seen(100, 120))
  expect(ends(range(seen(50, 70)))).toEqual([46, 74])
  expect(ends(range(seen(2, 20)))).toEqual([0, 24])
  expect(ends(range({ ...seen(990, 999) }))).toEqual([986, 999])
})
