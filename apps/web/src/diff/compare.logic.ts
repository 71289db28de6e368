/** One step from one list of lines to another. */
export type Step = { readonly type: 'same' | 'removed' | 'added'; readonly text: string }

/** The fewest steps from one list of lines to another (Myers); undefined where that would take more than `most` changes. */
export function compareLines(
  before: readonly string[],
  after: readonly string[],
  most: number,
): readonly Step[] | undefined {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const rest = Math.min(before.length, after.length) - start
  while (end < rest && before.at(-1 - end) === after.at(-1 - end)) end++
  const middle = shortest(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
    most,
  )
  if (!middle) return undefined
  const same = (lines: readonly string[]) => lines.map((text): Step => ({ type: 'same', text }))
  return [...same(before.slice(0, start)), ...middle, ...same(before.slice(before.length - end))]
}

/** Walks diagonal by diagonal; `reached[k]` is how far along `before` the best path on diagonal k has come. */
function shortest(before: readonly string[], after: readonly string[], most: number): Step[] | undefined {
  const limit = Math.min(most, before.length + after.length)
  const reached = new Int32Array(2 * limit + 3)
  const middle = limit + 1
  const history: Int32Array[] = []
  for (let changes = 0; changes <= limit; changes++) {
    history.push(reached.slice(middle - changes - 1, middle + changes + 2))
    for (let k = -changes; k <= changes; k += 2) {
      const down = k === -changes || (k !== changes && reached[middle + k - 1]! < reached[middle + k + 1]!)
      let x = down ? reached[middle + k + 1]! : reached[middle + k - 1]! + 1
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++
      reached[middle + k] = x
      if (x >= before.length && x - k >= after.length) return backwards(before, after, history)
    }
  }
  return undefined
}

function backwards(
  before: readonly string[],
  after: readonly string[],
  history: readonly Int32Array[],
): Step[] {
  const steps: Step[] = []
  let x = before.length
  let y = after.length
  for (let changes = history.length - 1; changes >= 0; changes--) {
    const reached = history[changes]!
    const at = (k: number) => reached[k + changes + 1] ?? 0
    const k = x - y
    const down = k === -changes || (k !== changes && at(k - 1) < at(k + 1))
    const fromK = down ? k + 1 : k - 1
    const fromX = changes === 0 ? 0 : at(fromK)
    const fromY = changes === 0 ? 0 : fromX - fromK
    while (x > fromX && y > fromY) {
      steps.push({ type: 'same', text: before[--x]! })
      y--
    }
    if (changes === 0) break
    if (down) steps.push({ type: 'added', text: after[--y]! })
    else steps.push({ type: 'removed', text: before[--x]! })
  }
  return steps.reverse()
}
