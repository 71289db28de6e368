import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyError, type SeenChange } from '@parley/protocol'
import { inWorkTree, type Place } from './in-work-tree.ts'
import { entriesIn, submodule, type TreeEntry } from './restore.ts'
import type { ShadowFolder } from './shadow-folder.ts'

/**
 * A file that a command names. `path` and `from` are relative to the work tree; the paths in `file` are relative to
 * the folder.
 */
export type NamedFile<File = SeenChange> = {
  readonly file: File
  readonly path: string
  readonly from: string | undefined
}

type Named = Pick<SeenChange, 'path' | 'from' | 'blob'>

/** Throws ParleyError `validation_error` for a path outside the folder, and for a path that occurs twice. */
export function namedFiles<File extends Named>(at: Place, files: readonly File[]): NamedFile<File>[] {
  const named = files.map((file) => ({
    file,
    path: inWorkTree(at, file.path),
    from: file.from === undefined ? undefined : inWorkTree(at, file.from),
  }))
  const paths = pathsOf(named)
  if (new Set(paths).size === paths.length) return named
  throw new ParleyError('validation_error', 'A file is named twice.')
}

export function pathsOf(named: readonly Pick<NamedFile, 'path' | 'from'>[]): string[] {
  return named.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]))
}

/**
 * Returns the present entries of the files. Throws ParleyError `conflict` if a file differs from what the caller has
 * seen. `now` is the tree of the work tree.
 */
export async function expectSeen(
  at: ShadowFolder,
  now: string,
  named: readonly NamedFile<Named>[],
): Promise<ReadonlyMap<string, TreeEntry>> {
  const entries = await entriesIn(at, now, new Set(pathsOf(named)))
  for (const { file, path, from } of named) {
    const entry = entries.get(path)
    if (entry?.mode === submodule) throw notAFile(file.path)
    const isSeen = entry ? entry.object === file.blob : isNothing(file.blob)
    if (isSeen && (from === undefined || !entries.has(from))) continue
    if (!entry && (await isLeftOut(at, path))) throw leftOut(file.path)
    throw changedMeanwhile(file.path, entry?.object)
  }
  return entries
}

/** True for the hash of zeros, which stands for a missing content, such as that of a deleted file. */
export const isNothing = (blob: string) => /^0+$/.test(blob)

export function isRegular(entry: TreeEntry | undefined): boolean {
  return entry === undefined || entry.mode.startsWith('100')
}

async function isLeftOut(at: ShadowFolder, path: string): Promise<boolean> {
  return (await lstat(join(at.shadow.workTree, path)).catch(() => undefined)) !== undefined
}

export function changedMeanwhile(path: string, blob: string | undefined): ParleyError {
  const message = `${path} has changed since you looked at it, so nothing was changed. Look at its changes again.`
  return new ParleyError('conflict', message, { details: { path, ...(blob !== undefined && { blob }) } })
}

function leftOut(path: string): ParleyError {
  const message = `${path} is left out of snapshots, because it is ignored, too large or not readable, so a change could not be undone. Change it in a terminal.`
  return new ParleyError('not_supported', message, { details: { path } })
}

export function notAFile(path: string): ParleyError {
  const message = `${path} is a submodule or another repository. Change it in a terminal.`
  return new ParleyError('not_supported', message, { details: { path } })
}
