/**
 * Functions that make content self-contained Markdown: every construct that the content opens is closed, and HTML in
 * it is shown as text.
 */

/** A code block with a fence longer than any run of backticks inside it. */
export function fenced(text: string, language = ''): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}

/** The text as one line, with Markdown and HTML escaped. */
export function inline(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_[\]<>#|~&]/g, '\\$&')
}

/** A quotation. A fence that is open in the text ends with the quotation. */
export function quoted(text: string): string {
  const lines = withoutHtml(text).text.split('\n')
  return lines.map((line) => `> ${line}`.trimEnd()).join('\n')
}

/** The author's own Markdown. A fence that is left open is closed. */
export function contained(text: string): string {
  const { text: safe, open } = withoutHtml(text)
  return open ? `${safe.replace(/\n$/, '')}\n${' '.repeat(open.indent)}${open.run}` : safe
}

export type Fence = { readonly run: string; readonly indent: number }

/**
 * Shows tags as text. Code is left unchanged, since tags in code are already text. Text that is not clearly code is
 * treated as text.
 */
function withoutHtml(text: string): { text: string; open: Fence | undefined } {
  let open: Fence | undefined
  let loose = false
  const lines = text.split(/\r\n|\r|\n/).map((line) => {
    const inside = open !== undefined && !leaves(line, open)
    open = fenceAfter(inside ? open : undefined, line)
    if (inside || open) return line
    const outsideCode = line.replace(codeSpan, '')
    if (line.trim() === '') loose = false
    else loose ||= outsideCode.includes('`')
    return loose ? escapeTags(line) : escapeTagsOutsideCode(line)
  })
  return { text: lines.join('\n'), open }
}

const codeSpan = /(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)/g

function escapeTagsOutsideCode(line: string): string {
  const codes = line.match(codeSpan) ?? []
  const between = line.split(codeSpan).filter((_, index) => index % 2 === 0)
  return between.map((piece, index) => escapeTags(piece) + (codes[index] ?? '')).join('')
}

function escapeTags(text: string): string {
  return text.replace(/<(?=[A-Za-z/!?])/g, '&lt;')
}

/** True if the line ends a fence in a list item. Such a fence ends at the first line with less indentation. */
function leaves(line: string, { indent }: Fence): boolean {
  return line.trim() !== '' && line.search(/\S/) < indent
}

/**
 * The fence that is open after this line. Only a run of the same character, at least as long and alone on its line,
 * closes it.
 */
export function fenceAfter(open: Fence | undefined, line: string): Fence | undefined {
  const match = /^( *)(`{3,}|~{3,})(.*)$/.exec(line)
  if (!match) return open
  const [, space = '', run = '', rest = ''] = match
  if (!open) return run[0] === '`' && rest.includes('`') ? undefined : { run, indent: space.length }
  return run[0] === open.run[0] && run.length >= open.run.length && rest.trim() === '' ? undefined : open
}
