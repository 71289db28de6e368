import type { Diff } from '@parley/protocol'
import { type DiffLine, type FileDiff, readDiff } from '@parley/protocol/diff'
import { cached } from '../../base/cached.ts'
import { visible } from '../../base/format.logic.ts'

export type { DiffLine, FileDiff }
export type Hunk = { readonly lines: readonly DiffLine[] }
export type DiffLines = Pick<FileDiff, 'hunks' | 'added' | 'removed'>

export const diffFiles = cached<Diff, readonly FileDiff[]>(readDiff, new WeakMap())

export function diffLines(diff: Diff): DiffLines {
  const files = diffFiles(diff)
  if (files.length === 1) return files[0]!
  return {
    hunks: files.flatMap(({ hunks }) => hunks),
    added: files.reduce((sum, { added }) => sum + added, 0),
    removed: files.reduce((sum, { removed }) => sum + removed, 0),
  }
}

export function firstLines(hunks: readonly Hunk[], limit: number): Hunk[] {
  let left = limit
  return hunks.flatMap((hunk) => {
    if (left <= 0) return []
    const lines = hunk.lines.slice(0, left)
    left -= lines.length
    return [{ lines }]
  })
}

export const lineSigns = { added: '+', removed: '−', same: ' ' }

/** A note on a file that is new, deleted or completely replaced, if its lines do not show that. */
export function fileNote(
  { before, after, patch }: Diff,
  { status }: Pick<FileDiff, 'status'>,
): string | undefined {
  if (before === null || status === 'added') return 'New file'
  if (after === null || status === 'deleted') return 'Deleted'
  return patch === undefined && before === undefined ? 'Replaces the whole file' : undefined
}

const maxLineLength = 4000

/** A line with hidden and reordering characters made visible, cut at the length limit. */
export function lineText(text: string): string {
  const line = visible(text.replace(/\r$/, ''))
  return line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line
}
