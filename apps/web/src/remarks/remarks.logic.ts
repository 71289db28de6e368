import { onOneLine } from '@parley/protocol'
import { plural } from '../base/format.logic.ts'
import type { DiffLine } from '../parts/diff/lines.logic.ts'

/** A remark on one or several adjacent lines of a diff, kept until all remarks are sent together. */
export type Remark = {
  readonly path: string
  /** The last line. The remark is shown below it. */
  readonly line: number
  /** `before`: the last line is a removed line, numbered as in the text before the change. */
  readonly side: 'before' | 'after'
  /** The first line of a remark on several lines, numbered like `line`. */
  readonly firstLine?: number
  readonly quote: string
  readonly text: string
}

export type Place = Pick<Remark, 'path' | 'line' | 'side'>

export function placeOf(line: DiffLine, path: string): Place {
  if (line.type === 'removed') return { path, line: line.before ?? 0, side: 'before' }
  return { path, line: line.after ?? 0, side: 'after' }
}

const signs = { added: '+', removed: '-', same: ' ' }

/** An empty remark on adjacent lines of a hunk. */
export function remarkOn(lines: readonly DiffLine[], path: string): Remark {
  const last = lines.at(-1)
  if (!last) throw new Error('A remark needs a line.')
  const place = placeOf(last, path)
  const firstLine = lines.flatMap((line) => line[place.side] ?? [])[0]
  const isMixed = new Set(lines.map(({ type }) => type)).size > 1
  const quote = lines.map(({ type, text }) => (isMixed ? signs[type] + text : text)).join('\n')
  return {
    ...place,
    ...(firstLine !== undefined && firstLine < place.line && { firstLine }),
    quote,
    text: '',
  }
}

/** The lines of a remark, such as `line 3` or `lines 3 to 9`. */
export function linesText({ line, firstLine }: Pick<Remark, 'line' | 'firstLine'>): string {
  return firstLine === undefined ? `line ${line}` : `lines ${firstLine} to ${line}`
}

export const samePlace = (one: Place, other: Place) =>
  one.path === other.path && one.line === other.line && one.side === other.side

/**
 * Adds a remark, or replaces the earlier remark on the same line. A remark with an empty text only removes the
 * earlier remark.
 */
export function withRemark(remarks: readonly Remark[], remark: Remark): readonly Remark[] {
  const others = remarks.filter((other) => !samePlace(other, remark))
  return remark.text.trim() === '' ? others : [...others, remark]
}

/** All remarks as one prompt, sorted by file and line. */
export function remarksPrompt(remarks: readonly Remark[]): string {
  const sorted = remarks.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  const lines = sorted.map((remark) => {
    const { path, line, firstLine, side, quote, text } = remark
    const range = firstLine === undefined ? `${line}` : `${firstLine}-${line}`
    const removed = firstLine === undefined ? 'removed line' : 'lines before the change'
    const where = `${onOneLine(path)}:${range}${side === 'before' ? ` (${removed})` : ''}`
    const code = quoted(quote)
    return `- ${where}${code}\n  ${text.trim().replaceAll('\n', '\n  ')}`
  })
  return `Please address these remarks on your changes:\n\n${lines.join('\n\n')}`
}

const maxQuoted = { lines: 12, length: 200 }

function quoted(code: string): string {
  if (code.trim() === '') return ''
  const lines = code.split('\n')
  const shown = lines.slice(0, maxQuoted.lines).map((line) => line.trimEnd().slice(0, maxQuoted.length))
  const more = lines.length - shown.length
  const all = more > 0 ? [...shown, `… (${plural(more, 'more line')})`] : shown
  return `\n${all.map((line) => `  > ${line}`).join('\n')}\n`
}
