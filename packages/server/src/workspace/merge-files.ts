import { ParleyError } from '@parley/protocol'
import { unfinishedIn } from './commit.ts'
import type { FolderGit } from './folder-git.ts'
import type { Look } from './git.ts'
import { othersAt, shownPath } from './obstacles.ts'

/** Writes the merged files into the work tree in which the base branch is checked out. */

/** The base branch, its commit, and its tree after the merge. */
export type Move = { readonly into: string; readonly onto: string; readonly tree: string }
type Trees = Pick<Move, 'onto' | 'tree'>

/**
 * The files that the merge would overwrite or delete although they differ from the commit `onto`. Files that are
 * already as in `tree` are left out, because a merge that was killed may have written them.
 */
export async function pathsInTheWay(at: FolderGit, { onto, tree }: Trees): Promise<string[]> {
  const { look, workTree } = at
  const moved = await movedPaths(look, onto, tree)
  const [fromOld, fromNew, edited] = await Promise.all([
    names(look, ['diff', '--cached', onto]),
    names(look, ['diff', '--cached', tree]),
    names(look, ['diff']),
  ])
  const isDone = (path: string) => fromOld.has(path) && !fromNew.has(path)
  const changed = [...moved.keys()].filter((path) =>
    fromOld.has(path) ? fromNew.has(path) : edited.has(path),
  )
  const created = [...moved].filter(([path, status]) => status === 'A' && !isDone(path)).map(([path]) => path)
  const others = await othersAt(workTree, created, async (some) => {
    const listed = await look(['ls-files', '-z', '--others', '--', ...some])
    if (listed.code !== 0) throw unreadable(listed.stderr)
    return listed.bytes
  })
  return [...new Set([...changed, ...others])].map(shownPath).toSorted()
}

/** The paths in which two trees differ, with the letter of the change. Each character of a path is one byte. */
export async function movedPaths(look: Look, from: string, to: string): Promise<Map<string, string>> {
  const { code, cut, bytes, stderr } = await look([
    ...(['diff-tree', '-r', '-z', '--no-renames', '--name-status'] as const),
    ...[from, to],
  ])
  if (code !== 0 || cut) throw unreadable(stderr)
  const fields = bytes.toString('latin1').split('\0')
  const moved = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) moved.set(fields[at + 1] ?? '', fields[at] ?? '')
  return moved
}

async function names(look: Look, [command, ...rest]: readonly ['diff', ...string[]]): Promise<Set<string>> {
  const { code, cut, bytes, stderr } = await look([
    command,
    '--name-only',
    '--no-renames',
    '-z',
    ...rest,
    '--',
  ])
  if (code !== 0 || cut) throw unreadable(stderr)
  return new Set(bytes.toString('latin1').split('\0').slice(0, -1))
}

const unreadable = (why: string) =>
  new ParleyError('busy', `git could not compare the files: ${why || 'there are too many'}. Try again.`)

/**
 * The time limit for writing the files. It must be shorter than `lockMs`, the time for which the branch is locked.
 */
const writeMs = 5 * 60_000

/**
 * Writes the merged files into the work tree and its index, as `git merge --ff-only` does. The caller must have
 * locked the branch. Git compares each file with the index before it writes. If a file differs, nothing is changed.
 */
export async function writeMerged(at: FolderGit, { into, onto, tree }: Move): Promise<void> {
  const { look, change, workTree } = at
  const head = await look(['symbolic-ref', '-q', 'HEAD'])
  if (head.stdout.trim() !== `refs/heads/${into}`)
    throw new ParleyError(
      'conflict',
      `${into} is not checked out in ${workTree} any more. Open the merge preview again.`,
    )
  const what = await unfinishedIn(at)
  if (what !== undefined) {
    const message = `A ${what} is not finished in ${workTree}. Finish or abort it in a terminal, then merge.`
    throw new ParleyError('conflict', message, { details: { unfinished: what } })
  }
  // A file that was written with the same content differs from the index until the index is refreshed.
  await change(['update-index', '-q', '--refresh'])
  const blocked = await pathsInTheWay(at, { onto, tree })
  if (blocked.length > 0) throw inTheWay(workTree, blocked.slice(0, 200))
  const done = await change(['read-tree', '-m', '-u', onto, tree], { timeoutMs: writeMs })
  if (done.code !== 0) throw notWritten(workTree, done.stderr)
}

/** Restores the files as they were before `writeMerged`, because the branch could not be moved. */
export async function unwriteMerged({ change }: FolderGit, { onto, tree }: Trees): Promise<void> {
  await change(['read-tree', '-m', '-u', tree, onto], { timeoutMs: writeMs })
}

export function inTheWay(folder: string, blocked: readonly string[]): ParleyError {
  const message = `The merge would overwrite files in ${folder} that are not committed, so nothing was changed. Commit or move them first.`
  return new ParleyError('conflict', message, { details: { folder, blocked } })
}

function notWritten(workTree: string, stderr: string): ParleyError {
  if (/index\.lock/.test(stderr))
    return new ParleyError('busy', `Another program uses the index of ${workTree}. Try again.`)
  const message = `A file in ${workTree} has changed since the preview, or would be overwritten, so nothing was merged. Open the merge preview again.`
  return new ParleyError('conflict', message, { details: { reason: stderr.slice(0, 500) } })
}
