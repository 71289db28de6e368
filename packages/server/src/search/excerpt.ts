import { plain, wordsOf } from './words.ts'

const before = 60
const longest = 220
const mostMarks = 50

export type Excerpt = { readonly text: string; readonly marks: [number, number][] }

const wordPattern = /[\p{L}\p{N}\p{M}]+/gu

/** The part of a text around the first of the searched words, and the positions of these words in it. */
export function excerptOf(text: string, words: readonly string[]): Excerpt {
  const found = matches(text, words)
  const first = found[0]?.[0] ?? 0
  const from = first <= before ? 0 : wordStart(text, first - before)
  const to = Math.min(text.length, from + longest)
  const part = text.slice(from, to).replace(/\s/g, ' ')
  const lead = from > 0 ? '…' : ''
  return {
    text: `${lead}${part}${to < text.length ? '…' : ''}`,
    marks: found
      .filter(([start, end]) => start >= from && end <= to)
      .map(([start, end]) => [start - from + lead.length, end - from + lead.length]),
  }
}

/**
 * The ranges of the text that match. A word of the text matches if it, or a part of it such as `File` in `readFile`,
 * starts with a searched word.
 */
function matches(text: string, words: readonly string[]): [number, number][] {
  const found: [number, number][] = []
  for (const { 0: word, index } of text.matchAll(wordPattern)) {
    const own = wordsOf(word)
    const hit = words.find((searched) => own.some((one) => one.startsWith(searched)))
    if (hit === undefined) continue
    const normal = plain(word).toLowerCase()
    const start = normal.length === word.length ? normal.indexOf(hit) : -1
    found.push(start < 0 ? [index, index + word.length] : [index + start, index + start + hit.length])
    if (found.length === mostMarks) break
  }
  return found
}

/** The start of a word near this place. A surrogate pair is not cut. */
function wordStart(text: string, at: number): number {
  const space = text.slice(at, at + before).search(/\s/)
  if (space >= 0) return at + space + 1
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at + 1 : at
}
