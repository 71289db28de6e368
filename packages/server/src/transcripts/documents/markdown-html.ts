import { visible } from '@parley/protocol'
import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { type Html, html } from './html.ts'
import { type Fence, fenceAfter } from './markdown-text.ts'

/**
 * Converts an agent's Markdown to HTML. `marked` only parses it; `html` writes the tags and escapes all content, so
 * no tag in the text takes effect. Text that takes `marked` too long is shown unformatted.
 */
export function markdownHtml(text: string): Html {
  return html`${sections(text.replace(/\r\n?/g, '\n')).map(sectionHtml)}`
}

/** The maximum length of a text that is parsed at once: the parsing time can grow with the square of the length. */
const sectionLength = 10_000
const inlineLength = 2_000
const maxDepth = 24
/**
 * Matches a line that opens more than `maxDepth` quotations and lists. Parsing thousands of them would overflow the
 * stack.
 */
const tooDeep = new RegExp(`^(?:[ \\t]*(?:>|[-*+]|\\d+[.)])){${maxDepth + 1}}`, 'm')

/** Splits a long text, at a blank line if possible, never inside a fence. */
function sections(text: string): string[] {
  if (text.length <= sectionLength) return [text]
  const found: string[] = []
  let fence: Fence | undefined
  let from = 0
  let blank = 0
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline + 1
    const line = text.slice(at, newline < 0 ? end : newline)
    if (!fence && at > from && end - from > sectionLength) {
      const cut = blank > from ? blank : at
      found.push(text.slice(from, cut))
      from = cut
    }
    fence = fenceAfter(fence, line)
    if (!fence && line.trim() === '') blank = end
    at = end
  }
  if (from < text.length) found.push(text.slice(from))
  return found
}

function sectionHtml(text: string): Html {
  const lexer = new Lexer()
  return tooDeep.test(text)
    ? html`<p class="text">${text.trimEnd()}</p>`
    : blocksHtml(lexer.blockTokens(text), { lexer, depth: 0 })
}

type Place = { readonly lexer: Lexer; readonly depth: number }

function blocksHtml(tokens: readonly Token[], place: Place): Html {
  return html`${tokens.map((token) => blockHtml(token as MarkedToken, place))}`
}

function blockHtml(token: MarkedToken, { lexer, depth }: Place): Html | undefined {
  if (depth > maxDepth) return html`<p class="text">${token.raw.trimEnd()}</p>`
  const inside = { lexer, depth: depth + 1 }
  switch (token.type) {
    case 'space':
    case 'def':
      return undefined
    case 'heading': {
      const words = textHtml(token.text, lexer)
      return token.depth < 3 ? html`<h3>${words}</h3>` : html`<h4>${words}</h4>`
    }
    case 'paragraph':
      return html`<p class="text">${textHtml(token.text, lexer)}</p>`
    case 'text':
      return textHtml(token.text, lexer)
    case 'code':
      return html`<pre>${visible(token.text)}</pre>`
    case 'blockquote':
      return html`<blockquote>${blocksHtml(token.tokens, inside)}</blockquote>`
    case 'list':
      return listHtml(token, inside)
    case 'table':
      return tableHtml(token, lexer)
    case 'hr':
      return html`<hr>`
    default:
      return html`<p class="text">${visible(token.raw.trimEnd())}</p>`
  }
}

function listHtml({ ordered, start, items }: Tokens.List, place: Place): Html {
  const rows = items.map(({ tokens, task, checked }) => {
    const parts = tokens.flatMap((token) => {
      const part = token.type === 'checkbox' ? undefined : blockHtml(token as MarkedToken, place)
      return part ? [part] : []
    })
    const content = parts.map((part, index) => (index > 0 ? html`\n${part}` : part))
    return html`<li>${task && (checked ? '☑ ' : '☐ ')}${content}</li>`
  })
  return ordered ? html`<ol start="${start}">${rows}</ol>` : html`<ul>${rows}</ul>`
}

function tableHtml({ header, rows }: Tokens.Table, lexer: Lexer): Html {
  const align = (cell: Tokens.TableCell) => cell.align && html` align="${cell.align}"`
  const head = header.map((cell) => html`<th${align(cell) ?? ''}>${textHtml(cell.text, lexer)}</th>`)
  const body = rows.map(
    (row) =>
      html`<tr>${row.map((cell) => html`<td${align(cell) ?? ''}>${textHtml(cell.text, lexer)}</td>`)}</tr>`,
  )
  return html`<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`
}

/** A text within a block. A long text is parsed in parts that end at a space. */
function textHtml(text: string, lexer: Lexer): Html {
  const parts: Html[] = []
  for (let from = 0; from < text.length; ) {
    const space = text.lastIndexOf(' ', from + inlineLength)
    const end =
      from + inlineLength >= text.length ? text.length : space > from ? space + 1 : from + inlineLength
    const part = text.slice(from, end)
    parts.push(isMostlyMarks(part) ? html`${part}` : spansHtml(lexer.inlineTokens(part), 0))
    from = end
  }
  return html`${parts}`
}

/** True for a text with more marks than any prose has. Such a text is not parsed, because parsing it takes long. */
function isMostlyMarks(text: string): boolean {
  return text.length > 200 && (text.match(/[*_~`[\]<!|\\]/g)?.length ?? 0) > text.length / 4
}

function spansHtml(tokens: readonly Token[], depth: number): Html {
  return html`${tokens.map((token) => spanHtml(token as MarkedToken, depth))}`
}

function spanHtml(token: MarkedToken, depth: number): Html | string {
  if (depth > maxDepth) return token.raw
  switch (token.type) {
    case 'strong':
      return html`<strong>${spansHtml(token.tokens, depth + 1)}</strong>`
    case 'em':
      return html`<em>${spansHtml(token.tokens, depth + 1)}</em>`
    case 'del':
      return html`<s>${spansHtml(token.tokens, depth + 1)}</s>`
    case 'codespan':
      return html`<code>${visible(token.text)}</code>`
    case 'br':
      return '\n'
    case 'link':
      return linkHtml(token, depth)
    case 'image':
      return html`${visible(token.text)} <span class="soft">(image: ${visible(token.href)})</span>`
    case 'text':
    case 'escape':
      return token.text
    default:
      return visible(token.raw)
  }
}

/** A link as text with its address beside it, because a saved page has no active links. */
function linkHtml(link: Tokens.Link, depth: number): Html {
  const words = spansHtml(link.tokens, depth + 1)
  return link.text === link.href || link.href === `mailto:${link.text}`
    ? words
    : html`${words} <span class="soft">(${visible(link.href)})</span>`
}
