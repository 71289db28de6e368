import { type Html, html } from './html.ts'

/**
 * An agent's Markdown as HTML: paragraphs, headings, lists, quotations, fenced code, and within lines bold, italic,
 * code and links. Other syntax stays text. All of it is escaped by `html`, so no tag in the text takes effect.
 */
export function markdownHtml(text: string): Html {
  return blocks(text, 0)
}

/** Deeper nesting stays text. */
const deepest = 8

function blocks(text: string, depth: number): Html {
  const lines = text.split(/\r\n|\r|\n/)
  const parts: Html[] = []
  for (let at = 0; at < lines.length; ) {
    const flat = blankAt(lines, at) ?? fenceAt(lines, at) ?? headingAt(lines, at)
    const nested = depth < deepest && !flat ? (listAt(lines, at, depth) ?? quoteAt(lines, at, depth)) : flat
    const { end, content } = nested || paragraphAt(lines, at)
    if (content) parts.push(content)
    at = end
  }
  return html`${parts}`
}

/** The block that starts at a line, and the index of the first line after it. */
type Part = { readonly end: number; readonly content?: Html }

const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/
const heading = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/
const item = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/
const quotation = /^ {0,3}> ?(.*)$/

function blankAt(lines: readonly string[], at: number): Part | undefined {
  return lines[at]?.trim() === '' ? { end: at + 1 } : undefined
}

/** A fence that is never closed extends to the end. */
function fenceAt(lines: readonly string[], at: number): Part | undefined {
  const [, run = '', info = ''] = fence.exec(lines[at] ?? '') ?? []
  if (run === '' || (run[0] === '`' && info.includes('`'))) return undefined
  const closing = new RegExp(`^ {0,3}${run[0]}{${run.length},}\\s*$`)
  let end = at + 1
  while (end < lines.length && !closing.test(lines[end] ?? '')) end++
  return { end: end + 1, content: html`<pre>${lines.slice(at + 1, end).join('\n')}</pre>` }
}

function headingAt(lines: readonly string[], at: number): Part | undefined {
  const match = heading.exec(lines[at] ?? '')
  if (!match) return undefined
  const [, marks = '', text = ''] = match
  const words = inline(text)
  return { end: at + 1, content: marks.length < 3 ? html`<h3>${words}</h3>` : html`<h4>${words}</h4>` }
}

/** The list that starts at a line. Items that are indented further form a list within their item. */
function listAt(lines: readonly string[], at: number, depth: number): Part | undefined {
  const first = item.exec(lines[at] ?? '')
  if (!first) return undefined
  const [, indent = '', number] = first
  const items: Html[] = []
  let end = at
  while (end < lines.length) {
    const [, space, , text] = item.exec(lines[end] ?? '') ?? []
    if (space === undefined || text === undefined || space.length !== indent.length) break
    let below = end + 1
    while (below < lines.length && belongsBelow(lines[below] ?? '', indent.length)) below++
    const inner = lines.slice(end + 1, below).map((line) => line.slice(leading(line, indent.length + 2)))
    items.push(
      html`<li>${inline(text)}${inner.length > 0 && html`\n${blocks(inner.join('\n'), depth + 1)}`}</li>`,
    )
    end = below
  }
  const list = number === undefined ? html`<ul>${items}</ul>` : html`<ol start="${number}">${items}</ol>`
  return { end, content: list }
}

function belongsBelow(line: string, indent: number): boolean {
  return line.trim() !== '' && line.search(/\S/) > indent
}

function leading(line: string, most: number): number {
  return Math.min(most, line.search(/\S/))
}

function quoteAt(lines: readonly string[], at: number, depth: number): Part | undefined {
  let end = at
  while (quotation.test(lines[end] ?? '')) end++
  if (end === at) return undefined
  const inner = lines.slice(at, end).map((line) => quotation.exec(line)?.[1] ?? '')
  return { end, content: html`<blockquote>${blocks(inner.join('\n'), depth + 1)}</blockquote>` }
}

function paragraphAt(lines: readonly string[], at: number): Part {
  let end = at + 1
  const begins = [/^\s*$/, fence, heading, item, quotation]
  while (end < lines.length && !begins.some((pattern) => pattern.test(lines[end] ?? ''))) end++
  return { end, content: html`<p class="text">${inline(lines.slice(at, end).join('\n'))}</p>` }
}

/** Every repetition is bounded, so that no text takes long to match. */
const spans =
  /(?<!`)(?<code>`{1,8})(?!`)(?<coded>.{1,400}?)(?<!`)\k<code>(?!`)|\*\*(?=\S)(?<bold>.{1,400}?)(?<=\S)\*\*|(?<![\w*])(?<mark>[*_])(?=[^\s*_])(?<italic>.{1,400}?)(?<=[^\s*_])\k<mark>(?![\w*])|\[(?<label>[^\]\n]{1,400})\]\((?<address>[^\s()<>]{1,2000})\)/gs

/** A link is text with its URL beside it: a saved page has no active links. */
function inline(text: string): Html {
  const parts: (string | Html)[] = []
  let at = 0
  for (const match of text.matchAll(spans)) {
    const { coded, bold, italic, label, address } = match.groups ?? {}
    parts.push(text.slice(at, match.index))
    at = match.index + match[0].length
    if (coded !== undefined) parts.push(html`<code>${coded}</code>`)
    else if (bold !== undefined) parts.push(html`<strong>${inline(bold)}</strong>`)
    else if (italic !== undefined) parts.push(html`<em>${inline(italic)}</em>`)
    else parts.push(html`${inline(label ?? '')} <span class="soft">(${address})</span>`)
  }
  return html`${[...parts, text.slice(at)]}`
}
