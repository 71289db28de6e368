import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, type LeftOut, maxLeftOut, ParleyError, type PlannedWorktree } from '@parley/protocol'
import type { Examined } from '../core/worktrees.ts'
import type { GitIn, Look } from './git.ts'
import { hashFiles } from './hash-files.ts'
import { headOf } from './head.ts'
import { type Environment, runProgram } from './run-git.ts'
import { isSameFile } from './worktree-files.ts'
import { commitAt } from './worktree-repository.ts'

/** Finds the content that the removal of a worktree would delete. Runs no program that the worktree names. */

const maxIgnored = 50
const maxUntrackedBytes = 10 * 1024 * 1024
const maxExamined = 5_000
/** The maximum size of the files with flags that are compared. */
const maxFlaggedBytes = 64 * 1024 * 1024
const sizeMs = 10_000

export async function examineWorktree(
  gitIn: GitIn,
  env: Environment,
  { path, branch, source, copy = [] }: PlannedWorktree,
): Promise<Examined> {
  const { look } = gitIn({ path, trusted: false })
  const [head, tracked, others, ignored, commits, loose, entries, bytes] = await Promise.all([
    headOf(look),
    listed(look, ['diff-index', '--name-only', '-z', 'HEAD', '--']),
    listed(look, ['ls-files', '-z', '--others', '--exclude-standard']),
    listed(look, ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']),
    countCommits(look, branch),
    countCommits(look),
    entriesIn(look),
    sizeOf(env, path),
  ])
  const [submodules, flagged] = await Promise.all([
    filledSubmodules(path, entries),
    changedWithFlags(path, entries),
  ])
  const changed = new Set([...tracked, ...flagged])
  const files = ignored.filter((name) => !name.endsWith('/'))
  const unchanged = await Promise.all(
    files.map(async (name) => copy.includes(name) && (await isSameFile(path, source, name))),
  )
  const loss = {
    changes: changed.size + others.filter((name) => !name.endsWith('/')).length,
    commits: Math.max(commits - loose, 0),
    loose,
    ignored: ignored.slice(0, maxIgnored),
    ignoredFiles: unchanged.filter((is) => !is).length,
    leftOut: [...submodules, ...(await leftOutOf(path, others))].slice(0, maxLeftOut),
  }
  return { loss, ...defined({ head, bytes }) }
}

async function listed(look: Look, args: Parameters<Look>[0]): Promise<string[]> {
  const { code, cut, stdout, stderr } = await look(args)
  if (code === 0 && !cut) return stdout.split('\0').filter((path) => path !== '')
  throw notExamined(stderr || 'it has too many files')
}

function notExamined(why: string): ParleyError {
  return new ParleyError('not_supported', `The worktree cannot be examined: ${why || 'no reason given'}.`)
}

/**
 * Counts the commits of the worktree that are on no branch and no tag. With `branch`, commits that are only on that
 * branch count too.
 */
async function countCommits(look: Look, branch?: string): Promise<number> {
  const except = branch === undefined ? [] : [`--exclude=${branch}`]
  const own = branch === undefined ? undefined : await commitAt(look, `refs/heads/${branch}`)
  const others = ['--not', ...except, '--branches', '--tags', '--remotes']
  const found = await look(['rev-list', '--count', 'HEAD', ...(own ? [own] : []), ...others])
  // A ref of the repository that is not valid makes git fail. The commits are then unknown, not none.
  if (found.code !== 0) throw notExamined(found.stderr)
  return Number(found.stdout)
}

/** An entry of the index. `flag` is `H` for an ordinary entry, as `git ls-files -v` prints it. */
type IndexEntry = {
  readonly flag: string
  readonly mode: string
  readonly object: string
  readonly path: string
}

async function entriesIn(look: Look): Promise<IndexEntry[]> {
  return (await listed(look, ['ls-files', '-s', '-v', '-z'])).flatMap((line) => {
    const [, flag, mode, object, path] = /^(\S) (\d+) ([0-9a-f]+) \d\t(.*)$/s.exec(line) ?? []
    return flag && mode && object && path ? [{ flag, mode, object, path }] : []
  })
}

/**
 * Files that differ from the index although git does not look for changes of them (`assume-unchanged`,
 * `skip-worktree`). Contents are compared byte for byte, without conversions.
 */
async function changedWithFlags(folder: string, entries: readonly IndexEntry[]): Promise<string[]> {
  const flagged = entries.filter(({ flag, mode }) => /^[a-zS]$/.test(flag) && mode !== '160000')
  if (flagged.length === 0) return []
  const there = await Promise.all(flagged.map(({ path }) => lstat(join(folder, path)).catch(() => undefined)))
  const present = flagged.filter((_, index) => there[index])
  const hashes = await hashFiles(
    folder,
    present.map(({ path }) => path),
    { algorithm: flagged[0]?.object.length === 64 ? 'sha256' : 'sha1', maxBytes: maxFlaggedBytes },
  )
  return present.flatMap(({ path, object }) => (hashes.get(path) === object ? [] : [path]))
}

/** Submodules whose files exist. A snapshot contains only their commits. */
async function filledSubmodules(path: string, entries: readonly IndexEntry[]): Promise<LeftOut[]> {
  const paths = entries.filter(({ mode }) => mode === '160000').map((entry) => entry.path)
  const filled = await Promise.all(paths.map((one) => lstat(join(path, one, '.git')).catch(() => undefined)))
  return paths.filter((_, index) => filled[index]).map((one) => ({ path: one, reason: 'repository' }))
}

/** Untracked repositories and large files, which snapshots do not contain. */
async function leftOutOf(path: string, others: readonly string[]): Promise<LeftOut[]> {
  const found: LeftOut[] = []
  for (const name of others.slice(0, maxExamined)) {
    if (name.endsWith('/')) found.push({ path: name.slice(0, -1), reason: 'repository' })
    else {
      const stats = await lstat(join(path, name)).catch(() => undefined)
      if (stats?.isFile() && stats.size > maxUntrackedBytes) found.push({ path: name, reason: 'large' })
    }
  }
  return found
}

/** The size of the folder on the disk; undefined if it cannot be determined within a time limit. */
async function sizeOf({ PATH }: Environment, path: string): Promise<number | undefined> {
  const run = { program: 'du', args: ['-sk', path], cwd: '/', env: { PATH, LC_ALL: 'C' } }
  const found = await runProgram({ ...run, timeoutMs: sizeMs }).catch(() => undefined)
  const kilobytes = /^\d+/.exec(found?.stdout ?? '')?.[0]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}
