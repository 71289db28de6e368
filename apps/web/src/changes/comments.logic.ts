import type { DiffLine } from '../parts/diff/lines.logic.ts'

/** A comment on a line of a diff, kept until all comments are sent together. */
export type Comment = {
  readonly path: string
  readonly line: number
  /** `before`: a removed line, numbered as in the text before the change. */
  readonly side: 'before' | 'after'
  readonly quote: string
  readonly text: string
}

export type Place = Pick<Comment, 'path' | 'line' | 'side'>

export function placeOf(line: DiffLine, path: string): Place {
  if (line.type === 'removed') return { path, line: line.before ?? 0, side: 'before' }
  return { path, line: line.after ?? 0, side: 'after' }
}

export const samePlace = (one: Place, other: Place) =>
  one.path === other.path && one.line === other.line && one.side === other.side

/**
 * Adds a comment, or replaces the earlier comment on the same line. A comment with an empty text only removes the
 * earlier comment.
 */
export function withComment(comments: readonly Comment[], comment: Comment): readonly Comment[] {
  const others = comments.filter((other) => !samePlace(other, comment))
  return comment.text.trim() === '' ? others : [...others, comment]
}

/** All comments as one prompt, sorted by file and line. */
export function commentsPrompt(comments: readonly Comment[]): string {
  const sorted = comments.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  const lines = sorted.map(({ path, line, side, quote, text }) => {
    const where = `${path}:${line}${side === 'before' ? ' (removed line)' : ''}`
    const code = quote.trim() === '' ? '' : `\n  > ${quote.trimEnd().slice(0, 200)}\n`
    return `- ${where}${code}\n  ${text.trim().replaceAll('\n', '\n  ')}`
  })
  return `Please address these comments on your changes:\n\n${lines.join('\n\n')}`
}
