/** The largest number of edits between a mistyped word and the suggested word. */
const maxEdits = 2

/** The word whose spelling is most similar to the given word; undefined if no word is similar. */
export function nearest(given: string, words: readonly string[]): string | undefined {
  const near = words.map((word) => ({ word, edits: editDistance(given, word) }))
  const [first] = near.filter(({ edits }) => edits <= maxEdits).toSorted((a, b) => a.edits - b.edits)
  return first?.word
}

/** The number of characters to insert, delete or replace to turn one word into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const letter of one) {
    const next = [(row[0] ?? 0) + 1]
    for (const [index, above] of row.slice(1).entries()) {
      const replaced = (row[index] ?? 0) + (letter === other[index] ? 0 : 1)
      next.push(Math.min(above + 1, (next[index] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
