import { type BranchInfo, defined, hasCode, ParleyError } from '@parley/protocol'
import type { Looked } from '../core/folder-changes.ts'
import { baseBranch, shortName } from './base-branch.ts'
import { expectIdentity, unfinishedIn } from './commit.ts'
import type { FolderGit } from './folder-git.ts'
import type { Look } from './git.ts'
import { headOf } from './head.ts'
import { type Remote, remoteOf } from './remote.ts'

/**
 * Reads the checked-out branch from the local repository. The remote is not contacted. `base` is the person's
 * setting, and `madeFrom` the branch from which the worktree was made.
 */
export async function branchInfo(
  git: FolderGit,
  { base, madeFrom }: Pick<Looked, 'base' | 'madeFrom'>,
): Promise<BranchInfo> {
  const [branch, commit, author, unfinished] = await Promise.all([
    checkedOut(git.look),
    headOf(git.look),
    expectIdentity(git).catch((error: unknown) => {
      if (hasCode(error, 'not_supported')) return undefined
      throw error
    }),
    unfinishedIn(git),
  ])
  const remote = branch === undefined ? undefined : await remoteOf(git, branch)
  const baseRef = await baseBranch(git.look, base, madeFrom)
  const isBase = branch !== undefined && (await isBaseBranch(git.look, branch, base))
  return {
    ...defined({ branch, commit, author, unfinished }),
    ...(baseRef !== undefined &&
      commit !== undefined &&
      !isBase && {
        base: {
          branch: shortName(baseRef),
          ...(await distance(git.look, baseRef)),
          ...defined({ toMerge: await toMerge(git.look, baseRef) }),
        },
      }),
    ...(isBase && { isBase }),
    ...(remote && branch !== undefined && { remote: await withBranch(git.look, remote, branch) }),
    trusted: git.trusted,
  }
}

/** The checked-out branch. Undefined if HEAD is detached. */
export async function checkedOut(look: Look): Promise<string | undefined> {
  const { code, stdout } = await look(['symbolic-ref', '-q', 'HEAD'])
  return code === 0 ? stdout.trim().replace(/^refs\/heads\//, '') : undefined
}

const usualBases = new Set(['main', 'master', 'trunk', 'develop'])

/**
 * True if others build on this branch: a person or the remote names it as the base, or it has a usual name of a base
 * branch.
 */
export async function isBaseBranch(look: Look, branch: string, base: string | undefined): Promise<boolean> {
  if (usualBases.has(branch)) return true
  const { stdout } = await look(['for-each-ref', '--format=%(symref)', 'refs/remotes/*/HEAD'])
  const named = stdout.split('\n').map((ref) => ref.replace(/^refs\/remotes\/[^/]+\//, ''))
  const setting = base?.replace(/^refs\/(heads|remotes\/[^/]+)\//, '')
  return setting === branch || setting?.replace(/^[^/]+\//, '') === branch || named.includes(branch)
}

export function remoteRef({ name }: Pick<Remote, 'name'>, branch: string): string {
  return `refs/remotes/${name}/${branch}`
}

async function withBranch(look: Look, remote: Remote, branch: string): Promise<BranchInfo['remote']> {
  const ref = remoteRef(remote, branch)
  const { code, stdout } = await look(['rev-parse', '--verify', '-q', `${ref}^{commit}`])
  if (code !== 0) return { ...remote }
  return { ...remote, branch: { commit: stdout.trim(), ...(await distance(look, ref)) } }
}

/**
 * The number of commits that a merge on this machine would add to the local base branch. Zero if both have the same
 * files, as after a squash.
 */
async function toMerge(look: Look, baseRef: string): Promise<number | undefined> {
  const local = `refs/heads/${baseRef.replace(/^refs\/(heads|remotes\/[^/]+)\//, '')}`
  const trees = await Promise.all([`${local}^{tree}`, 'HEAD^{tree}'].map((tree) => resolved(look, tree)))
  if (trees[0] === undefined) return undefined
  return trees[0] === trees[1] ? 0 : (await distance(look, local)).ahead
}

async function resolved(look: Look, revision: string): Promise<string | undefined> {
  const { code, stdout } = await look(['rev-parse', '--verify', '-q', revision])
  return code === 0 ? stdout.trim() : undefined
}

async function distance(look: Look, ref: string): Promise<{ ahead: number; behind: number }> {
  const { code, stdout } = await look(['rev-list', '--left-right', '--count', `HEAD...${ref}`, '--'])
  const [ahead, behind] = stdout.trim().split('\t').map(Number)
  if (code === 0 && ahead !== undefined && behind !== undefined) return { ahead, behind }
  throw new ParleyError('busy', 'git could not compare the branches. Try again.')
}
