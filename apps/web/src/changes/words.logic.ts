import { changedWords, type LineParts } from '@parley/protocol/diff'
import { type DiffLine, type Hunk, lineText } from '../parts/diff/lines.logic.ts'
import { pairsOf } from './split.logic.ts'

/** The changed words of each line that replaces a similar line, or is replaced by a similar line. */
export type Words = ReadonlyMap<DiffLine, LineParts>

/** The maximum number of line pairs of a file that are compared: each takes up to a tenth of a millisecond. */
const maxPairs = 400

export function wordsOf(hunks: readonly Hunk[]): Words {
  const words = new Map<DiffLine, LineParts>()
  let compared = 0
  for (const { lines } of hunks)
    for (const { before, after } of pairsOf(lines)) {
      if (before?.type !== 'removed' || after?.type !== 'added') continue
      if (++compared > maxPairs) return words
      const found = changedWords(lineText(before.text), lineText(after.text))
      if (!found) continue
      words.set(before, found.before)
      words.set(after, found.after)
    }
  return words
}

type Token = readonly [content: string, kind: string]
export type Piece = readonly [content: string, kind: string, changed: boolean]

/** Cuts the tokens of a line where its changed words begin and end. */
export function piecesOf(tokens: readonly Token[], words: LineParts): readonly Piece[] {
  const pieces: Piece[] = []
  let at = 0
  let next = 0
  for (const [content, kind] of tokens) {
    const end = at + content.length
    for (let from = at; from < end; ) {
      while (next < words.length && words[next]![1] <= from) next++
      const [start, stop] = words[next] ?? [end, end]
      const changed = start <= from
      const to = Math.min(end, changed ? stop : start)
      pieces.push([content.slice(from - at, to - at), kind, changed])
      from = to
    }
    at = end
  }
  return pieces
}
