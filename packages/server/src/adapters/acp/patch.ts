const context = 3

/**
 * A change of a text as one hunk of a patch: all lines between the first and the last that differ. Not the smallest
 * there is, but small where a file is large and a change is not. The lines of an unchanged text give nothing.
 */
export function patchOf(before: string, after: string): string {
  const old = linesOf(before)
  const now = linesOf(after)
  const shorter = Math.min(old.length, now.length)
  let head = 0
  while (head < shorter && old[head] === now[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  if (head === old.length && head === now.length) return ''
  const start = Math.max(0, head - context)
  const end = Math.max(0, tail - context)
  const above = old.slice(start, head)
  const below = old.slice(old.length - tail, old.length - end)
  const gone = old.slice(head, old.length - tail)
  const come = now.slice(head, now.length - tail)
  const lines = [
    ...above.map((line) => ` ${line}`),
    ...gone.map((line) => `-${line}`),
    ...come.map((line) => `+${line}`),
    ...below.map((line) => ` ${line}`),
  ]
  const same = above.length + below.length
  return [`@@ -${range(start, same + gone.length)} +${range(start, same + come.length)} @@`, ...lines].join(
    '\n',
  )
}

/** Where a hunk without lines stands is told by the line before it. */
function range(start: number, length: number): string {
  return `${length === 0 ? start : start + 1},${length}`
}

/** The last line break ends the last line; it does not begin another. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
