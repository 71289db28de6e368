import { constants } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { findRepository, type Repository, readPointer } from './repository.ts'

/**
 * Finds the project and the branch of a folder by reading files, without running git. A folder cannot claim to belong
 * to another repository: that repository must have registered the folder as a linked work tree.
 */

/** `isRoot` is set if the folder is the top folder of a work tree, or in no repository. */
export type FolderProject = { readonly project: string; readonly isRoot: boolean }

/** The project of a folder, which must be a real path. */
export async function findProject(folder: string): Promise<FolderProject> {
  const found = await confirmedRepository(folder)
  if (!found) return { project: folder, isRoot: true }
  return { project: found.project, isRoot: found.workTree === folder }
}

/** The top of the work tree of a folder; the folder itself if it is in no repository. */
export async function workTreeOf(folder: string): Promise<string> {
  return (await confirmedRepository(folder))?.workTree ?? folder
}

const longestBranch = 250

/**
 * The checked-out branch of a folder. Undefined if no branch is checked out, or if it is uncertain that the git
 * directory belongs to the folder.
 */
export async function branchOf(folder: string): Promise<string | undefined> {
  const found = await confirmedRepository(folder)
  if (found?.gitDir === undefined) return undefined
  const head = await readPointer(join(found.gitDir, 'HEAD'), constants.O_NOFOLLOW ?? 0)
  const [, branch = ''] = /^ref: refs\/heads\/([^\p{Cc}\s]+)$/u.exec(head ?? '') ?? []
  // If refs are stored in another format than files, HEAD contains the placeholder ".invalid".
  return branch === '' || branch.startsWith('.') || branch.length > longestBranch ? undefined : branch
}

type Confirmed = {
  readonly workTree: string
  readonly project: string
  /** Absent if it is not certain that the git directory belongs to the work tree. */
  readonly gitDir?: string
}

async function confirmedRepository(folder: string): Promise<Confirmed | undefined> {
  const repository = await findRepository(folder)
  if (!repository) return undefined
  const { workTree } = repository
  // A repository of settings in the home folder does not turn all folders below it into one project.
  if (workTree !== folder && (await isHome(workTree))) return undefined
  const own = join(workTree, '.git')
  const found = await lstat(own).catch(() => undefined)
  // The project is this directory. Its file `commondir` is ignored, because it could name any other repository.
  if (found?.isDirectory()) return { workTree, project: own, gitDir: own }
  const linked = found?.isFile() ? await linkedBy(repository) : undefined
  return linked ? { workTree, ...linked } : { workTree, project: own }
}

async function isHome(folder: string): Promise<boolean> {
  return folder === (await realpath(homedir()).catch(() => homedir()))
}

/**
 * Finds the repository in which the work tree is registered as a linked work tree: a file of the repository names the
 * `.git` file of the work tree. Undefined if there is none. All paths are resolved before they are compared, because
 * links could change them.
 */
async function linkedBy({
  workTree,
  gitDir,
  commonDir,
}: Repository): Promise<{ project: string; gitDir: string } | undefined> {
  try {
    const [place, common] = await Promise.all([realpath(gitDir), realpath(commonDir)])
    if (dirname(place) !== join(common, 'worktrees')) return undefined
    const back = await readPointer(join(place, 'gitdir'))
    if (back === undefined) return undefined
    const named = resolve(place, back)
    if (basename(named) !== '.git' || (await realpath(dirname(named))) !== workTree) return undefined
    return { project: common, gitDir: place }
  } catch {
    return undefined
  }
}
