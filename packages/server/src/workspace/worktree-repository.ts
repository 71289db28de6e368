import { constants } from 'node:fs'
import { readdir, realpath, rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { Look } from './git.ts'
import { findProject } from './project.ts'
import { findRepository, type Repository, readPointer } from './repository.ts'

/** Functions for the repository of a worktree. They read files and do not run git, except for `commitAt`. */

/**
 * The repository of a folder. Rejects unless the repository confirms that the folder belongs to it: a `.git` file can
 * name any repository, and a worktree would then be added to that repository.
 */
export async function ownRepository(folder: string): Promise<Repository> {
  const repository = await findRepository(folder)
  if (!repository)
    throw new ParleyError('not_supported', `${folder} is in no git repository, so it has no worktrees.`)
  const commonDir = await realpath(repository.commonDir)
  if ((await findProject(folder)).project !== commonDir) {
    const message = `${folder} claims to belong to the repository ${commonDir}, but the repository does not list it. Choose the main folder of the repository.`
    throw new ParleyError('not_supported', message)
  }
  return { ...repository, commonDir }
}

/**
 * The directories in the repository that register the worktree at `path`, including those of an interrupted attempt.
 */
export async function adminFolders(commonDir: string, path: string): Promise<string[]> {
  const root = join(commonDir, 'worktrees')
  const names = await readdir(root).catch(() => [])
  const found = await Promise.all(
    names.map(async (name) => {
      const place = join(root, name)
      const back = await readPointer(join(place, 'gitdir'), constants.O_NOFOLLOW)
      // A directory without a link to a worktree remains if making the worktree was interrupted. The directory has the
      // name of the worktree's folder, which is unique, so its name identifies the worktree.
      const isOurs =
        back === undefined ? name === basename(path) : resolve(place, back) === join(path, '.git')
      return isOurs ? [place] : []
    }),
  )
  return found.flat()
}

export async function removeAdminFolders(commonDir: string, path: string): Promise<void> {
  for (const place of await adminFolders(commonDir, path)) await rm(place, { recursive: true, force: true })
}

/** True if the branch is checked out in a work tree of the repository. */
export async function isCheckedOut(commonDir: string, branch: string): Promise<boolean> {
  const root = join(commonDir, 'worktrees')
  const names = await readdir(root).catch(() => [])
  const heads = [join(commonDir, 'HEAD'), ...names.map((name) => join(root, name, 'HEAD'))]
  const found = await Promise.all(heads.map((head) => readPointer(head)))
  return found.includes(`ref: refs/heads/${branch}`)
}

/** Resolves a ref or a hash to a commit; undefined if there is none. */
export async function commitAt(look: Look, ref: string): Promise<string | undefined> {
  const found = await look(['rev-parse', '--verify', '-q', '--end-of-options', `${ref}^{commit}`])
  return found.code === 0 ? found.stdout.trim() : undefined
}
