import { type Changes, type LeftOut, ParleyError } from '@parley/protocol'
import { baseOf } from './base-branch.ts'
import { changesOf, patchOf, treeChanges, treePatch } from './changes.ts'
import type { Look, SeenFolder } from './git.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'
import { unlisted } from './unlisted.ts'

/**
 * What a folder is compared with: HEAD, the hash of a commit, or one of the following. Snapshots are named by their
 * trees.
 */
export type Comparison =
  | string
  /** From HEAD to the index, or from the index to the folder. */
  | { readonly with: 'staged' }
  | { readonly with: 'unstaged' }
  /** Where the checked-out commits left the base branch; by default the one that the repository names. */
  | { readonly with: 'base'; readonly branch?: string }
  /** From a snapshot to another one, or to the folder as it is now. */
  | {
      readonly with: 'snapshot'
      readonly from: string
      readonly to?: string
      /** Also patches of files that git does not list. */
      readonly all?: boolean
    }

export type Compared = Changes & {
  /** The base branch. */
  readonly baseBranch?: string
  readonly leftOut?: readonly LeftOut[]
}

type Parts = { readonly look: Look; readonly folders: ShadowedFolders | undefined }

export async function compare(
  { look, folders }: Parts,
  { path: folder }: SeenFolder,
  compared: Comparison,
): Promise<Compared> {
  if (typeof compared === 'string') return changesOf(look, folder, compared, { named })
  if (compared.with === 'staged' || compared.with === 'unstaged')
    return changesOf(look, folder, 'HEAD', { named, side: compared.with })
  if (compared.with === 'base') {
    const { branch, commit } = await baseOf(look, compared.branch)
    return { ...(await changesOf(look, folder, commit, { named })), baseBranch: branch }
  }
  const { from, to } = compared
  const shadows = expectFolders(folders)
  if (to !== undefined) return shadows.stored(folder, (at) => treeChanges(at, from, to))
  return shadows.now(folder, async (at, { tree, leftOut }) => ({
    ...(await treeChanges(at, from, tree)),
    leftOut,
  }))
}

const named = true

export async function comparePath(
  { look, folders }: Parts,
  { path: folder }: SeenFolder,
  path: string,
  compared: Comparison,
): Promise<{ patch: string; cut: boolean }> {
  if (typeof compared === 'string') return patchOf(look, folder, path, compared)
  if (compared.with === 'staged' || compared.with === 'unstaged')
    return patchOf(look, folder, path, 'HEAD', compared.with)
  if (compared.with === 'base')
    return patchOf(look, folder, path, (await baseOf(look, compared.branch)).commit)
  return expectFolders(folders).stored(folder, (at) => {
    // A snapshot of a folder without a repository has all its files, such as .env.
    if (!compared.all && !at.shadow.repository) throw unlisted('no-repository')
    return treePatch(at, path, compared)
  })
}

function expectFolders(folders: ShadowedFolders | undefined): ShadowedFolders {
  if (folders) return folders
  throw new ParleyError('not_supported', 'This server takes no snapshots of folders.')
}
