import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, rename, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type BranchFate, ParleyError, type PlannedWorktree } from '@parley/protocol'
import type { HowToMake, Made, RemovedBranch } from '../core/worktrees.ts'
import type { GitIn } from './git.ts'
import { removeFolder } from './remove-folder.ts'
import { findRepository } from './repository.ts'
import type { ReservedBranches } from './reserved-branches.ts'
import type { GitResult } from './run-git.ts'
import { copyFiles } from './worktree-files.ts'
import {
  adminFolders,
  commitAt,
  isCheckedOut,
  ownRepository,
  removeAdminFolders,
} from './worktree-repository.ts'

/**
 * Makes and removes the folder of one worktree. Each step can be repeated after a kill: a folder is renamed before it
 * is deleted, so that its path exists either completely or not at all, and the remains of an earlier attempt are
 * removed first.
 */

export type FolderParts = {
  readonly gitIn: GitIn
  readonly root: string
  readonly freeBytes: (folder: string) => Promise<number>
  /** Ends the processes that an earlier attempt has left running. */
  readonly endProcesses: (path: string) => void
  readonly reserved: ReservedBranches
}

/** No worktree is made if the disk has less free space than this. */
const leastFreeBytes = 2 * 1024 ** 3
const makeMs = 10 * 60_000
const attempts = 3
/** The beginning of the names of folders that are being deleted. */
const gonePrefix = '.gone-'

/** The id of the session in the name of a worktree's folder; undefined for another name. */
export function sessionOf(path: string): string | undefined {
  return /-(ses_[\w-]+)$/.exec(path)?.[1]
}

export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

export async function expectSpace({ root, freeBytes }: FolderParts): Promise<number> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const free = await freeBytes(root)
  if (free >= leastFreeBytes) return free
  const message = `Only ${(free / 1e9).toFixed(1)} GB are free on the disk with the data folder, and a worktree needs at least 2 GB. Free some space, or work in the folder itself.`
  throw new ParleyError('not_supported', message, { details: { freeBytes: free } })
}

export async function makeFolder(
  parts: FolderParts,
  worktree: PlannedWorktree,
  how: HowToMake,
): Promise<Made> {
  try {
    return await make(parts, worktree, how)
  } catch (error) {
    if (!how.signal.aborted) await discardFolder(parts, worktree, { branch: how.branch ?? 'delete' })
    throw error
  } finally {
    parts.reserved.release(sessionOf(worktree.path) ?? '')
  }
}

async function make(
  parts: FolderParts,
  worktree: PlannedWorktree,
  { trusted, head, follows, signal }: HowToMake,
): Promise<Made> {
  await expectSpace(parts)
  const { path, source, branch, base, copy = [] } = worktree
  if (!(await exists(source)))
    throw new ParleyError('not_found', `${source}, from which the worktree is made, is gone.`)
  const repository = parts.gitIn({ path: source, trusted: trusted && (await isTop(source)) })
  const own = follows ? await commitAt(repository.look, `refs/heads/${branch}`) : undefined
  const commit = own ?? (await commitAt(repository.look, head ?? base))
  if (commit === undefined) throw lost(head ?? base)
  await sweep(dirname(path))
  for (let attempt = 1; ; attempt++) {
    await clear(parts, worktree)
    const at = await commitAt(repository.look, `refs/heads/${branch}`)
    if (at !== undefined && at !== commit) throw moved(branch)
    const start = at === undefined ? ['-b', branch, path, commit] : [path, branch]
    const options = { timeoutMs: makeMs, signal }
    const added = await repository.change(['worktree', 'add', '--no-checkout', ...start], options)
    if (added.code === 0) {
      const here = parts.gitIn({ path, trusted })
      const filled = await here.change(['reset', '--hard', '-q'], options)
      if (filled.code === 0) break
      if (attempt === attempts) throw await failed(parts, filled)
    }
    // A git process that outlived a killed server may have blocked git for a moment, so the next attempt may succeed.
    if (attempt === attempts) throw await failed(parts, added)
  }
  const { copied, leftOut } = worktree.remote
    ? { copied: [], leftOut: [] }
    : await copyFiles(source, path, copy)
  return { head: commit, copied, leftOut }
}

const isTop = async (source: string) => (await findRepository(source))?.workTree === source

/** Removes a worktree that was not completed. Removes its branch too, unless the branch has a commit of its own. */
export async function discardFolder(
  parts: FolderParts,
  worktree: PlannedWorktree,
  { branch }: { branch: BranchFate },
): Promise<void> {
  await clear(parts, worktree)
  if (branch === 'delete') await deleteBranch(parts, worktree, worktree.base)
}

export async function removeWorktree(
  parts: FolderParts,
  worktree: PlannedWorktree,
  { branch, head }: { branch: BranchFate; head?: string | undefined },
): Promise<RemovedBranch> {
  await clear(parts, worktree)
  await sweep(dirname(worktree.path))
  if (branch === 'keep') return 'kept'
  const { look } = parts.gitIn({ path: worktree.source, trusted: false })
  const ref = `refs/heads/${worktree.branch}`
  if (head !== undefined) await deleteBranch(parts, worktree, head)
  return (await commitAt(look, ref)) === undefined ? 'deleted' : 'kept'
}

/** Removes the folder, and the registration of the worktree in the repository. */
async function clear({ endProcesses }: FolderParts, { path, source }: PlannedWorktree): Promise<void> {
  if (sessionOf(path) === undefined)
    throw new ParleyError('internal_error', `${path} is not a folder of a worktree.`)
  // The source can itself be a worktree that no longer exists; then the worktree leads to the repository. Without a
  // repository, there is no registration.
  const own = async (folder: string) => ownRepository(folder).catch(() => undefined)
  const repository = (await own(source)) ?? (await own(path))
  endProcesses(path)
  for (let attempt = 0; attempt < attempts && (await exists(path)); attempt++) {
    const gone = join(dirname(path), `${gonePrefix}${randomBytes(6).toString('hex')}`)
    await rename(path, gone)
    await removeFolder(gone)
  }
  if (repository) await removeAdminFolders(repository.commonDir, path)
  if (repository && (await adminFolders(repository.commonDir, path)).length > 0)
    throw new ParleyError('busy', `The repository still lists the worktree ${path}. Try again.`)
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  )

/** Deletes the branch if it is at this commit and not checked out anywhere. */
async function deleteBranch(
  { gitIn }: FolderParts,
  { source, branch }: PlannedWorktree,
  commit: string,
): Promise<void> {
  const repository = await ownRepository(source).catch(() => undefined)
  if (!repository || (await isCheckedOut(repository.commonDir, branch))) return
  await gitIn({ path: source, trusted: false }).change(['update-ref', '-d', `refs/heads/${branch}`, commit])
}

/** Deletes the remains of interrupted removals. */
async function sweep(root: string): Promise<void> {
  const names = await readdir(root).catch(() => [])
  const left = names.filter((name) => name.startsWith(gonePrefix))
  // A remainder that cannot be deleted now is tried again when the next worktree is made or removed.
  await Promise.allSettled(left.map((name) => removeFolder(join(root, name))))
}

async function failed({ root, freeBytes }: FolderParts, { stderr }: GitResult): Promise<ParleyError> {
  const isFull = (await freeBytes(root)) < 16 * 1024 ** 2
  const message = isFull
    ? 'The disk is full. Free some space, then try again.'
    : `Git could not make the worktree: ${stderr || 'no reason given'}`
  return new ParleyError('conflict', message, { details: { stderr } })
}

export function lost(commit: string): ParleyError {
  const message = `The repository does not have the commit ${commit.slice(0, 12)} any more.`
  return new ParleyError('not_found', message)
}

function moved(branch: string): ParleyError {
  const message = `The branch ${branch} exists and has other commits by now. Rename it or delete it, then try again.`
  return new ParleyError('conflict', message, { details: { branch } })
}
