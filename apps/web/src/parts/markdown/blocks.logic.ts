import { marked, type Token } from 'marked'
import remend from 'remend'

/**
 * A text, split into its top-level Markdown blocks. The cost of appending depends on the length of the last block,
 * not of the whole text.
 */
export type Markdown = { readonly text: string; readonly blocks: readonly MarkdownBlock[] }
export type MarkdownBlock = {
  /** The block's offset in the text, which identifies it while the text grows. */
  readonly at: number
  readonly raw: string
  readonly token: Token
  /** No more text can be added to the block. */
  readonly closed: boolean
}

export const emptyMarkdown: Markdown = { text: '', blocks: [] }

/** `done`: the text is complete. If it is not, markup that is open at the end is closed for display. */
export function parseMarkdown(source: string, done: boolean, before: Markdown = emptyMarkdown): Markdown {
  const text = source.replace(/\r\n?/g, '\n')
  if (text === before.text && (before.blocks.at(-1)?.closed ?? true) === done) return before
  const reused = text.startsWith(before.text) ? before.blocks.filter((block) => block.closed) : []
  const last = reused.at(-1)
  const from = last ? last.at + last.raw.length : 0
  const fresh = lex(text.slice(from), from, done)
  return { text, blocks: [...reused, ...fresh] }
}

function lex(text: string, offset: number, done: boolean): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = []
  let at = offset
  for (const token of tokensOf(text)) {
    blocks.push({ at, raw: token.raw, token, closed: true })
    at += token.raw.length
  }
  // The raw texts of the tokens must add up to the text. If the lexer rewrote something, no block may be reused next
  // time.
  const exact = at - offset === text.length
  if (done) return blocks
  const lastSaying = blocks.findLastIndex((block) => block.token.type !== 'space')
  return blocks.map((block, index) => {
    const closed = exact && index < lastSaying
    if (index !== lastSaying || block.token.type === 'code' || block.token.type === 'long')
      return { ...block, closed }
    const mended = tokensOf(remend(block.raw))
    return { ...block, closed, token: mended.length === 1 && mended[0] ? mended[0] : block.token }
  })
}

/** A line longer than this is parsed separately, in chunks, so that the cost of appending to it does not grow. */
const maxLineLength = 4000

function tokensOf(text: string): Token[] {
  return splitLongLines(text).flatMap((piece) => (piece.long ? [longLine(piece.text)] : lexed(piece.text)))
}

/** Splits a text into very long lines and the text between them. Lines inside a fence stay in the fence. */
function splitLongLines(text: string): { text: string; long: boolean }[] {
  if (text.length <= maxLineLength) return text === '' ? [] : [{ text, long: false }]
  const pieces: { text: string; long: boolean }[] = []
  let from = 0
  let inFence = false
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline + 1
    if (text.startsWith('```', at) || text.startsWith('~~~', at)) inFence = !inFence
    if (end - at > maxLineLength && !inFence) {
      if (at > from) pieces.push({ text: text.slice(from, at), long: false })
      pieces.push({ text: text.slice(at, end), long: true })
      from = end
    }
    at = end
  }
  if (from < text.length) pieces.push({ text: text.slice(from), long: false })
  return pieces
}

const longLine = (text: string): Token => ({ type: 'long', raw: text })

/**
 * The tokens of a text. A text on which the lexer fails, such as a thousand nested quotations, is shown
 * unformatted.
 */
function lexed(text: string): Token[] {
  try {
    return marked.lexer(text)
  } catch {
    return [longLine(text)]
  }
}

/** The maximum length of a text that is shown as a paragraph. */
const maxParagraphLength = 50_000

/** Whether a long text is a paragraph: one line, under the length limit, with spaces to split it at. */
export function isProse(text: string): boolean {
  if (text.length > maxParagraphLength || text.trimEnd().includes('\n')) return false
  return chunksOf(text)
    .slice(0, -1)
    .every((chunk) => chunk.endsWith(' '))
}

export function inlineOf(text: string): Token[] {
  try {
    return marked.Lexer.lexInline(text)
  } catch {
    return [{ type: 'escape', raw: text, text }]
  }
}

/** Splits a long text into chunks whose borders do not move while the text grows. */
export function chunksOf(text: string): readonly string[] {
  const chunks: string[] = []
  for (let from = 0; from < text.length; ) {
    const space = text.lastIndexOf(' ', from + maxLineLength)
    const end =
      from + maxLineLength >= text.length ? text.length : space > from ? space + 1 : from + maxLineLength
    chunks.push(text.slice(from, end))
    from = end
  }
  return chunks
}

const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  rarr: '→',
}

export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? whole
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

/**
 * The address that a link may open: absolute, with the scheme https, http or mailto. Undefined for any other address.
 */
export function safeHref(href: string): string | undefined {
  try {
    const url = new URL(href)
    return ['https:', 'http:', 'mailto:'].includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

/** The language of a fence, as the highlighter names it. */
export function languageOf(info: string | undefined): string {
  return /^[\w+#.-]+/.exec(info ?? '')?.[0]?.toLowerCase() ?? ''
}
