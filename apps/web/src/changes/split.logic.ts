import type { DiffLine } from '../parts/diff/lines.logic.ts'

/** A row of two columns: a line before the change and the line that replaces it. */
type Pair = { readonly before?: DiffLine; readonly after?: DiffLine }

/** Puts removed lines beside the added lines that follow them. */
export function pairsOf(lines: readonly DiffLine[]): readonly Pair[] {
  const pairs: Pair[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const [before, after] = [removed[at], added[at]]
      pairs.push({ ...(before && { before }), ...(after && { after }) })
    }
    removed = []
    added = []
  }
  for (const line of lines) {
    if (line.type === 'removed') {
      if (added.length > 0) flush()
      removed.push(line)
    } else if (line.type === 'added') added.push(line)
    else {
      flush()
      pairs.push({ before: line, after: line })
    }
  }
  flush()
  return pairs
}
