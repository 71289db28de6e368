import { visible } from '@parley/protocol'

/*
 * Text of an earlier session as a hand-off contains it. Each of its lines begins with `> ` or `- `, and every other line
 * of a hand-off is written by Parley. So no text of a person, an agent or a tool can end its quotation.
 */

/** The text as a quotation, with hidden characters made visible. */
export function quoted(text: string): string {
  const lines = shown(text).split('\n')
  return lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n')
}

/** The text as an item of a list: one line of at most `max` characters, with hidden characters made visible. */
export function item(text: string, max = 300): string {
  const line = oneLine(text, max)
  return line.length > max ? `- ${line.slice(0, max).toWellFormed()}…` : `- ${line}`
}

/** The text as one line, which may be longer than `max` if the text is. */
function oneLine(text: string, max: number): string {
  return shown(text.slice(0, 2 * max))
    .replace(/\s+/g, ' ')
    .trim()
}

/** The beginning and the end of a text, with a note of how much is missing between them. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text
  const end = Math.floor(max / 4)
  const start = max - end
  const note = `[${text.length - max} characters left out]`
  return `${text.slice(0, start).toWellFormed()}\n${note}\n${text.slice(text.length - end).toWellFormed()}`
}

/**
 * The text with hidden characters made visible. Some adapters put the text of a file between `<file>` and `</file>`; the
 * closing tag inside the text is changed, so that it does not end the file.
 */
function shown(text: string): string {
  return visible(text.replaceAll('\r\n', '\n').toWellFormed()).replace(/<(?=\/file)/gi, '<\\')
}
