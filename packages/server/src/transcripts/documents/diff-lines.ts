import { type Diff, visible } from '@parley/protocol'
import { type DiffHunk, type FileDiff, readDiff } from '@parley/protocol/diff'

/** `@` marks a line that is not part of the file: a file name, a line number, or `\ No newline at end of file`. */
export type DiffLine = { readonly sign: ' ' | '+' | '-' | '@'; readonly text: string }

/** The lines of a diff to show. If it has several files, the name of each is above its lines. */
export function diffLines(diff: Diff): DiffLine[] {
  const files = readDiff(diff)
  return files.flatMap((file) => [
    ...(files.length > 1 ? [{ sign: '@' as const, text: nameOf(file) }] : []),
    ...file.hunks.flatMap(hunkLines),
  ])
}

const nameOf = ({ path, from }: FileDiff) => (from === undefined ? path : `${from} → ${path}`)

const signs = { added: '+', removed: '-', same: ' ' } as const

function hunkLines({ lines }: DiffHunk, index: number): DiffLine[] {
  const start = lines[0]?.after ?? lines[0]?.before ?? 1
  return [
    ...(index > 0 || start > 1 ? [{ sign: '@' as const, text: `@@ line ${start} @@` }] : []),
    ...lines.flatMap(({ type, text, noNewline }): DiffLine[] => [
      { sign: signs[type], text: shown(text) },
      ...(noNewline ? [{ sign: '@' as const, text: '\\ No newline at end of file' }] : []),
    ]),
  ]
}

/** The text of a line with hidden characters made visible, except a carriage return at its end. */
function shown(text: string): string {
  return text.endsWith('\r') ? `${visible(text.slice(0, -1))}\r` : visible(text)
}

export function diffText(lines: readonly DiffLine[]): string {
  return lines.map(({ sign, text }) => (sign === '@' ? text : sign + text)).join('\n')
}
