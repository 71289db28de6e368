import type { Range } from '@tanstack/react-virtual'

/** The maximum number of extra rows above the view: rows that scrolled out are removed in batches, not one by one. */
const slack = 6

/** Returns a function that selects the rows to render. */
export function createRange(): (range: Range) => number[] {
  let first = 0
  return ({ startIndex, endIndex, overscan, count }) => {
    const wanted = Math.max(0, startIndex - overscan)
    if (first > wanted || wanted - first > slack) first = wanted
    const last = Math.min(count - 1, endIndex + overscan)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  }
}
