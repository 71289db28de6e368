import type { Range } from '@tanstack/react-virtual'

/** So many rows more than needed may stay above: what left the screen is cleared away together, not one by one. */
const slack = 6

/** Which rows are in the page. */
export function createRange(): (range: Range) => number[] {
  let first = 0
  return ({ startIndex, endIndex, overscan, count }) => {
    const wanted = Math.max(0, startIndex - overscan)
    if (first > wanted || wanted - first > slack) first = wanted
    const last = Math.min(count - 1, endIndex + overscan)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  }
}
