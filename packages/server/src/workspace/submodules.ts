import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, type FilledWorktree, ParleyError } from '@parley/protocol'
import type { Asked } from '../core/folder-changes.ts'
import { folderGit } from './folder-git.ts'
import type { GitIn, Look } from './git.ts'
import { lastLines, outputOf, withoutProgress } from './output.ts'
import { submodule } from './restore.ts'

/** The folders of the submodules of a work tree that have no repository yet. Nothing is started in them. */
export async function emptySubmodules(look: Look, workTree: string): Promise<string[]> {
  const modules = await lstat(join(workTree, '.gitmodules')).catch(() => undefined)
  if (!modules?.isFile()) return []
  const { code, cut, stdout, stderr } = await look(['ls-files', '-s', '-z'])
  if (code !== 0 || cut)
    throw new ParleyError('busy', `git could not list the submodules: ${stderr}. Try again.`)
  const entries = stdout.split('\0').filter((entry) => entry.startsWith(`${submodule} `))
  const paths = entries.map((entry) => entry.slice(entry.indexOf('\t') + 1))
  const found = await Promise.all(
    paths.map((path) => lstat(join(workTree, path, '.git')).catch(() => undefined)),
  )
  return paths.filter((_, index) => !found[index])
}

/** The time limits for checking out submodules: in total, and without output. */
const fillMs = 30 * 60_000
const quietMs = 5 * 60_000

/**
 * Checks out the submodules whose folders are empty. Other submodules are left alone: they may have commits or changes that
 * `git submodule update` would leave on no branch.
 */
export async function fillSubmodules(
  gitIn: GitIn,
  folder: string,
  { trusts, signal, progress }: Asked<'worktree.fill'>,
): Promise<FilledWorktree> {
  const git = await folderGit(gitIn, folder, trusts)
  const empty = await emptySubmodules(git.look, git.workTree)
  if (empty.length === 0) return { submodules: [] }
  const args = ['submodule', 'update', '--init', '--recursive', '--progress', '--', ...empty] as const
  const made = await git.reach(args, {
    ...{ signal, timeoutMs: fillMs, quietMs },
    ...defined({ progress: lastLines(progress) }),
  })
  const output = outputOf({ stdout: made.stdout, stderr: withoutProgress(made.stderr) })
  if (made.code === 0) return { submodules: empty, ...(output && { output }) }
  const last = output.split('\n').at(-1) ?? ''
  const message = `git could not fill the submodules: ${last || 'no reason given'}`
  throw new ParleyError('conflict', message, { details: { output } })
}
