import { type HunkRange, ParleyError } from '@parley/protocol'
import { hunksIn } from './lines.ts'

/** Throws ParleyError `conflict` unless the patch contains these hunks. */
export function expectHunks(wanted: readonly HunkRange[], patch: string, cut: boolean): void {
  if (cut) throw new ParleyError('too_large', 'The patch is too large to select hunks of it.')
  const keyOf = ({ oldStart, oldLines, newStart, newLines }: HunkRange) =>
    [oldStart, oldLines, newStart, newLines].join(' ')
  const known = new Set(hunksIn(patch).map(keyOf))
  if (wanted.every((hunk) => known.has(keyOf(hunk)))) return
  throw new ParleyError('conflict', 'The hunks of the file have changed. Look at its changes again.')
}
