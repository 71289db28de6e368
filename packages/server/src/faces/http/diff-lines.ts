import type { Diff } from '@parley/protocol'

export type DiffLine = { readonly sign: ' ' | '+' | '-' | '@'; readonly text: string }

const around = 3

/**
 * A change of a file as lines to read. The agent's own patch if it gave one; else the one stretch that differs, which
 * is correct but not the shortest when a file changed in two places.
 */
export function diffLines({ before, after, patch }: Pick<Diff, 'before' | 'after' | 'patch'>): DiffLine[] {
  if (patch !== undefined) return patch.replace(/\n$/, '').split('\n').map(patchLine)
  const old = linesOf(before)
  const now = linesOf(after)
  const shorter = Math.min(old.length, now.length)
  let start = 0
  while (start < shorter && old[start] === now[start]) start++
  let tail = 0
  while (tail < shorter - start && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  if (start === old.length && start === now.length) return []

  const from = Math.max(0, start - around)
  const signed = (sign: ' ' | '+' | '-', lines: string[]) => lines.map((text): DiffLine => ({ sign, text }))
  return [
    ...(from > 0 ? [{ sign: '@' as const, text: `@@ line ${from + 1} @@` }] : []),
    ...signed(' ', old.slice(from, start)),
    ...signed('-', old.slice(start, old.length - tail)),
    ...signed('+', now.slice(start, now.length - tail)),
    ...signed(' ', old.slice(old.length - tail, old.length - tail + around)),
  ]
}

function linesOf(text: string | null | undefined): string[] {
  return text ? text.replace(/\n$/, '').split('\n') : []
}

function patchLine(line: string): DiffLine {
  const isHeader = line.startsWith('@@') || line.startsWith('+++') || line.startsWith('---')
  if (isHeader) return { sign: '@', text: line }
  const sign = line[0]
  return sign === '+' || sign === '-'
    ? { sign, text: line.slice(1) }
    : { sign: ' ', text: line.replace(/^ /, '') }
}

export function diffText(lines: readonly DiffLine[]): string {
  return lines.map(({ sign, text }) => (sign === '@' ? text : sign + text)).join('\n')
}
