import { stat } from 'node:fs/promises'
import { ParleyError } from '@parley/protocol'
import type { GitFolder, GitIn, Look } from './git.ts'
import { findRepository, type Repository } from './repository.ts'

/** Git at the top of a work tree, for the operations of a person in a folder of the work tree. */
export type FolderGit = GitFolder & {
  readonly folder: string
  readonly workTree: string
  readonly repository: Repository
  /** True if programs that the repository names may be run. */
  readonly trusted: boolean
  /** Runs git in the folder, for lists and patches that people see. */
  readonly seen: Look
  /** True if git takes the modes of files from the folder. */
  tracksModes(): Promise<boolean>
}

export async function folderGit(
  gitIn: GitIn,
  folder: string,
  trusts: (folder: string) => boolean,
): Promise<FolderGit> {
  // Without this check, a folder that is gone would lead to a repository above it.
  if (!(await stat(folder).catch(() => undefined)))
    throw new ParleyError('not_found', `The folder ${folder} does not exist any more.`, {
      details: { gone: folder },
    })
  const repository = await findRepository(folder)
  if (!repository) throw new ParleyError('not_supported', 'This folder is not a git repository.')
  const { workTree } = repository
  const trusted = trusts(workTree)
  const git = gitIn({ path: workTree, trusted })
  let modes: Promise<boolean> | undefined
  return {
    ...git,
    ...{ folder, workTree, repository, trusted },
    seen: gitIn({ path: folder, trusted: trusts(folder) }).look,
    tracksModes() {
      modes ??= git
        .look(['config', '--type=bool', '--get', 'core.fileMode'])
        .then(({ stdout }) => stdout.trim() !== 'false')
      return modes
    },
  }
}
