import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, type FilledWorktree, ParleyError } from '@parley/protocol'
import type { Asked } from '../core/folder-changes.ts'
import { folderGit } from './folder-git.ts'
import type { GitIn, Look } from './git.ts'
import { lastLines, outputOf, withoutProgress } from './output.ts'
import { submodule } from './restore.ts'

/**
 * The folders of the submodules of a work tree that have no files. A submodule without files can have a repository,
 * because git clones all submodules before it checks out their files. Nothing is started in the submodules.
 */
export async function emptySubmodules(look: Look, workTree: string): Promise<string[]> {
  const file = join(workTree, '.gitmodules')
  const modules = await lstat(file).catch(() => undefined)
  if (!modules?.isFile()) return []
  const { code, cut, stdout, stderr } = await look(['ls-files', '-s', '-z'])
  if (code !== 0 || cut)
    throw new ParleyError('busy', `git could not list the submodules: ${stderr}. Try again.`)
  const entries = stdout.split('\0').filter((entry) => entry.startsWith(`${submodule} `))
  const known = await pathsIn(look, file)
  // Git can fill only the submodules that the file names. Other entries are repositories that somebody has added.
  const paths = entries.map((entry) => entry.slice(entry.indexOf('\t') + 1)).filter((path) => known.has(path))
  const empty = await Promise.all(paths.map((path) => isEmpty(join(workTree, path))))
  return paths.filter((_, index) => empty[index])
}

/** The paths of the submodules that `.gitmodules` names. Reading the file runs no program. */
async function pathsIn(look: Look, file: string): Promise<ReadonlySet<string>> {
  const from = ['--file', file, '--no-includes', '-z', '--get-regexp', '^submodule\\..*\\.path$']
  const { stdout } = await look(['config', ...from])
  const entries = stdout.split('\0').filter((entry) => entry !== '')
  return new Set(entries.map((entry) => entry.slice(entry.indexOf('\n') + 1).replace(/\/$/, '')))
}

async function isEmpty(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined)
  if (!found) return true
  if (!found.isDirectory()) return false
  return (await readdir(folder)).every((name) => name === '.git')
}

/** The time limits for checking out submodules: in total, and without output. */
const fillMs = 30 * 60_000
const quietMs = 5 * 60_000

/**
 * Checks out the submodules whose folders are empty. Other submodules are left alone: they may have commits or changes
 * that `git submodule update` would leave on no branch.
 */
export async function fillSubmodules(
  gitIn: GitIn,
  folder: string,
  { trusts, signal, progress }: Asked<'worktree.fill'>,
): Promise<FilledWorktree> {
  const git = await folderGit(gitIn, folder, trusts)
  const empty = await emptySubmodules(git.look, git.workTree)
  if (empty.length === 0) return { submodules: [] }
  // Without `--force`, git checks out nothing if the interrupted clone is at the recorded commit already.
  const options = ['--init', '--recursive', '--force', '--progress'] as const
  const args = ['submodule', 'update', ...options, '--', ...empty] as const
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
