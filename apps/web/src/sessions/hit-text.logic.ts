export type Piece = { readonly text: string; readonly isMarked: boolean }

/** Splits an excerpt into the found words and the text between them. */
export function piecesOf(text: string, marks: readonly (readonly [number, number])[]): readonly Piece[] {
  const pieces: Piece[] = []
  let from = 0
  const add = (to: number, isMarked: boolean) => {
    if (to > from) pieces.push({ text: text.slice(from, to), isMarked })
    from = Math.max(from, to)
  }
  for (const [start, end] of marks) {
    add(start, false)
    add(end, true)
  }
  add(text.length, false)
  return pieces
}
