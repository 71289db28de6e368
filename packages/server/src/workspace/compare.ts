import { type Changes, type LeftOut, ParleyError } from '@parley/protocol'
import { baseOf } from './base-branch.ts'
import { changesOf, patchOf, treeChanges, treePatch } from './changes.ts'
import type { Look, SeenFolder } from './git.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'
import { unlisted } from './unlisted.ts'

/**
 * The base of a comparison: HEAD, the hash of a commit, or one of the following. Snapshots are given by the hashes of
 * their trees.
 */
export type Comparison =
  | string
  /** The changes from HEAD to the index (`staged`), or from the index to the folder (`unstaged`). */
  | { readonly with: 'staged' }
  | { readonly with: 'unstaged' }
  /** The changes since the merge base with the base branch, which `baseBranch` of `base-branch.ts` chooses. */
  | { readonly with: 'base'; readonly branch?: string; readonly madeFrom?: string }
  /** The changes from a snapshot to another snapshot or, without `to`, to the present folder. */
  | {
      readonly with: 'snapshot'
      readonly from: string
      readonly to?: string
      /** Permits patches of files that git does not list. */
      readonly all?: boolean
    }

export type Compared = Changes & {
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
    const { branch, commit } = await baseOf(look, compared.branch, compared.madeFrom)
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
    return patchOf(look, folder, path, (await baseOf(look, compared.branch, compared.madeFrom)).commit)
  return expectFolders(folders).stored(folder, (at) => {
    // A snapshot of a folder without a repository contains all its files, including secrets such as .env.
    if (!compared.all && !at.shadow.repository) throw unlisted('no-repository')
    return treePatch(at, path, compared)
  })
}

export function expectFolders(folders: ShadowedFolders | undefined): ShadowedFolders {
  if (folders) return folders
  throw new ParleyError('not_supported', 'This server takes no snapshots of folders.')
}
