import { visible } from '../base/format.logic.ts'

/** A row of the viewer: a line, or a piece of a long line. */
export type CodeRow = {
  /** The number of the line, from 1. */
  readonly line: number
  /** The offset of the piece in its line. */
  readonly from: number
  readonly text: string
}

export type CodeText = {
  /** Lines with hidden characters made visible. */
  readonly lines: readonly string[]
  readonly rows: readonly CodeRow[]
  /** The length of the longest row, in columns. */
  readonly columns: number
  /** The number of lines that are left out, because the browser could not scroll that far. */
  readonly left: number
}

/** The maximum length of a row: the layout of longer rows is slow. */
export const maxRowLength = 2_000
const maxRows = 400_000
export const tabSize = 4

export function codeText(text: string): CodeText {
  const lines = visible(text.replaceAll('\r\n', '\n')).split('\n')
  if (lines.length > 1 && lines.at(-1) === '') lines.pop()
  const rows: CodeRow[] = []
  let columns = 0
  for (const [index, line] of lines.entries()) {
    if (rows.length >= maxRows) return { lines, rows, columns, left: lines.length - index }
    for (const row of piecesOf(line, index + 1)) {
      rows.push(row)
      columns = Math.max(columns, columnsOf(row.text))
    }
  }
  return { lines, rows, columns, left: 0 }
}

function piecesOf(text: string, line: number): CodeRow[] {
  if (text.length <= maxRowLength) return [{ line, from: 0, text }]
  const pieces: CodeRow[] = []
  for (let from = 0; from < text.length; ) {
    const to = from + maxRowLength
    // A surrogate pair is not split.
    const end = /[\ud800-\udbff]/.test(text.charAt(to - 1)) ? to - 1 : to
    pieces.push({ line, from, text: text.slice(from, end) })
    from = end
  }
  return pieces
}

function columnsOf(text: string): number {
  if (!text.includes('\t')) return text.length
  let columns = 0
  for (const character of text) columns += character === '\t' ? tabSize - (columns % tabSize) : 1
  return columns
}

/** The index of the first row of a line, or of the last line if there are fewer. */
export function rowOfLine(rows: readonly CodeRow[], line: number): number {
  let [low, high] = [0, rows.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle]?.line ?? 0) < line) low = middle + 1
    else high = middle
  }
  while (low > 0 && (rows[low]?.from ?? 0) > 0) low--
  return low
}

/** A place at which a text was found. */
export type CodeMatch = { readonly row: number; readonly at: number }

export const maxMatches = 5_000

/** Finds a text in all lines, ignoring case. A match may reach into the next piece of its line. */
export function matchesIn(rows: readonly CodeRow[], query: string): readonly CodeMatch[] {
  const wanted = query.toLowerCase()
  const matches: CodeMatch[] = []
  if (wanted === '') return matches
  for (const [index, row] of rows.entries()) {
    const next = rows[index + 1]
    const more = next && next.from > 0 ? next.text.slice(0, wanted.length - 1) : ''
    const text = (row.text + more).toLowerCase()
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      if (at >= row.text.length) break
      matches.push({ row: index, at })
      if (matches.length === maxMatches) return matches
    }
  }
  return matches
}

/** The line that a query such as `:120` names. */
export function lineNamed(query: string): number | undefined {
  const number = Number(/^:(\d{1,7})$/.exec(query.trim())?.[1])
  return number > 0 ? number : undefined
}
