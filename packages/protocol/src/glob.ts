/** `barred`: the characters that `*` does not match. `question`: `?` matches any one character. */
export type GlobOptions = { readonly barred?: RegExp; readonly question?: boolean }

type Piece = { readonly text: string; readonly holes: readonly number[] }

/**
 * True if a whole text matches a pattern: `*` matches any text, `\*` matches `*`, and `\\` matches `\`. Each literal
 * piece is matched at its first occurrence, so the time grows with the length of the text and never with the number
 * of ways to split it. The first occurrence is enough, even with `barred`: if it forces a star to match a barred
 * character, every later occurrence does, too.
 */
export function fitsGlob(pattern: string, text: string, { barred, question }: GlobOptions = {}): boolean {
  const [first = none, ...rest] = piecesOf(pattern, question ?? false)
  const last = rest.pop()
  if (!last) return text.length === first.text.length && isAt(first, text, 0)
  const spans = (from: number, to: number) => !barred?.test(text.slice(from, to))
  if (!isAt(first, text, 0)) return false
  let at = first.text.length
  for (const piece of rest) {
    const found = placeOf(piece, text, at)
    if (found < 0 || !spans(at, found)) return false
    at = found + piece.text.length
  }
  const end = text.length - last.text.length
  return end >= at && isAt(last, text, end) && spans(at, end)
}

const none: Piece = { text: '', holes: [] }

/** The literal texts between the stars; `holes` are the positions in a piece that match any character. */
function piecesOf(pattern: string, question: boolean): Piece[] {
  const pieces: { text: string; holes: number[] }[] = [{ text: '', holes: [] }]
  for (let at = 0; at < pattern.length; at++) {
    const piece = pieces[pieces.length - 1]!
    const char = pattern.charAt(at)
    if (char === '*') {
      pieces.push({ text: '', holes: [] })
      continue
    }
    if (question && char === '?') piece.holes.push(piece.text.length)
    const isEscape = !question && char === '\\' && at + 1 < pattern.length
    piece.text += isEscape ? pattern.charAt(++at) : char
  }
  return pieces
}

function placeOf(piece: Piece, text: string, from: number): number {
  if (piece.holes.length === 0) return text.indexOf(piece.text, from)
  for (let at = from; at + piece.text.length <= text.length; at++) if (isAt(piece, text, at)) return at
  return -1
}

function isAt({ text: wanted, holes }: Piece, text: string, at: number): boolean {
  if (holes.length === 0) return text.startsWith(wanted, at)
  if (at + wanted.length > text.length) return false
  for (let index = 0; index < wanted.length; index++)
    if (!holes.includes(index) && wanted.charAt(index) !== text.charAt(at + index)) return false
  return true
}
