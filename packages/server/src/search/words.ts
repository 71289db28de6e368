const wordPattern = /[\p{L}\p{N}]+/gu
const marks = /\p{M}+/gu
/** Scripts that write without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u
/** The boundaries inside a name: `readFile`, `HTTPServer`, `utf8Text`. */
const nameParts = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[^\p{Lu}\p{Ll}\p{N}]+/gu
/** Longer runs are data, such as base64, and not words. */
const longestWord = 64

/**
 * The words of a text, normalised: lower case, without accents. A name such as `readFile` is also split into its parts, so
 * that `file` finds it.
 */
export function wordsOf(text: string): string[] {
  return [...rawWords(text)].flatMap((word) => {
    if (unspaced.test(word)) return pairsOf(word)
    const parts = word.match(nameParts) ?? []
    return parts.length > 1 ? [word, ...parts].map(lower) : [lower(word)]
  })
}

/** The words that a query asks for. A name is one word, so that `readFile` does not find `file` and `read` apart. */
export function queryWords(query: string): string[] {
  const words = [...rawWords(query)].flatMap((word) => (unspaced.test(word) ? pairsOf(word) : [lower(word)]))
  return [...new Set(words)]
}

function* rawWords(text: string): Generator<string> {
  for (const [word] of plain(text).matchAll(wordPattern)) if (word.length <= longestWord) yield word
}

/** Letters without accents. The length can differ from that of the text. */
export function plain(text: string): string {
  return text.normalize('NFKD').replace(marks, '')
}

function lower(word: string): string {
  return word.toLowerCase()
}

/** Overlapping pairs of characters stand for the words of a script without spaces. */
function pairsOf(word: string): string[] {
  const characters = [...lower(word)]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}
