import { type HunkRange, ParleyError } from '@parley/protocol'

/** Functions for the lines of files as bytes, which keep line endings and encodings unchanged. */

/** The lines of a file, each with its line ending. */
export function linesIn(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at)
    const next = end < 0 ? bytes.length : end + 1
    lines.push(bytes.subarray(at, next))
    at = next
  }
  return lines
}

/** The hunks in a patch, from their headers. */
export function hunksIn(patch: string): HunkRange[] {
  const hunks: HunkRange[] = []
  const headers = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/
  const lines = patch.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const found = headers.exec(lines[at] ?? '')
    if (!found) continue
    const [, oldStart, oldLines = '1', newStart, newLines = '1'] = found
    const hunk = {
      oldStart: Number(oldStart),
      oldLines: Number(oldLines),
      newStart: Number(newStart),
      newLines: Number(newLines),
    }
    hunks.push(hunk)
    // Skips the lines of the hunk, because a line can look like a header.
    at = endOfHunk(lines, at, hunk)
  }
  return hunks
}

function endOfHunk(lines: readonly string[], header: number, { oldLines, newLines }: HunkRange): number {
  let [old, fresh, at] = [oldLines, newLines, header]
  while (old + fresh > 0 && at + 1 < lines.length) {
    const mark = lines[++at]?.charAt(0)
    if (mark === '\\') continue
    if (mark !== '+') old--
    if (mark !== '-') fresh--
  }
  return at
}

type Sides = { readonly old: Buffer; readonly fresh: Buffer }

/** Reverts these hunks in the newer content: their lines are replaced by the older lines. */
export function withoutHunks(sides: Sides, hunks: readonly HunkRange[]): Buffer {
  return withReplaced(linesIn(sides.fresh), linesIn(sides.old), hunks)
}

/** Applies these hunks to the older content: their lines are replaced by the newer lines. */
export function withHunks(sides: Sides, hunks: readonly HunkRange[]): Buffer {
  const turned = hunks.map(({ oldStart, oldLines, newStart, newLines }) => ({
    ...{ oldStart: newStart, oldLines: newLines },
    ...{ newStart: oldStart, newLines: oldLines },
  }))
  return withReplaced(linesIn(sides.old), linesIn(sides.fresh), turned)
}

/** Replaces, in `lines`, the range `new…` of each hunk by the range `old…` of `others`. */
function withReplaced(
  lines: readonly Buffer[],
  others: readonly Buffer[],
  hunks: readonly HunkRange[],
): Buffer {
  const parts: Buffer[] = []
  let at = 0
  for (const hunk of hunks.toSorted((a, b) => a.newStart - b.newStart || a.oldStart - b.oldStart)) {
    const start = offsetOf(hunk.newStart, hunk.newLines)
    const from = offsetOf(hunk.oldStart, hunk.oldLines)
    const isInside = start >= at && start + hunk.newLines <= lines.length
    if (!isInside || from + hunk.oldLines > others.length)
      throw new ParleyError('conflict', 'These hunks are not in the file. Look at the changes again.')
    parts.push(...lines.slice(at, start), ...others.slice(from, from + hunk.oldLines))
    at = start + hunk.newLines
  }
  parts.push(...lines.slice(at))
  return Buffer.concat(parts)
}

/** The index of the first line of a range. An empty range names the line before it. */
const offsetOf = (start: number, lines: number) => (lines === 0 ? start : start - 1)
