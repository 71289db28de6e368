import type { LeftOut } from '@parley/protocol'

/**
 * PORT. Works with the folders of sessions, and stores their trees. Rules:
 * - a folder is an absolute path as `session.created` records it.
 * - nothing that a folder names is run, whether or not the folder is trusted.
 * - a failure rejects with a ParleyError: `not_supported` if this cannot be done in this folder, `busy` if trying again
 *   can help.
 * - work that is killed at any moment can be repeated, and leaves nothing that prevents it.
 */
export type SessionFolder = {
  /**
   * Stores the tree of the folder, and keeps it until the session is forgotten. If the folder belongs to a repository,
   * the tree is that of the whole work tree.
   */
  snapshot(folder: string, options: SnapshotOptions): Promise<FolderSnapshot>
  /**
   * Makes the paths exactly what they are in a snapshot, and removes those that it does not have. Rejects with
   * `conflict`, and changes nothing, if a file changes meanwhile.
   */
  restore(folder: string, options: RestoreOptions): Promise<RestoredPaths>
  /** Keeps the snapshots of a session also for its fork. */
  share(folder: string, sessionId: string, fork: string): Promise<void>
  /** Drops the snapshots of a session. */
  forget(folder: string, sessionId: string): Promise<void>
}

export type SnapshotOptions = { readonly sessionId: string; readonly signal?: AbortSignal }

export type FolderSnapshot = {
  readonly tree: string
  /** The commit that is checked out; absent without a repository or a commit. */
  readonly head?: string
  readonly leftOut: readonly LeftOut[]
}

export type RestoreOptions = {
  readonly sessionId: string
  readonly tree: string
  /** Relative to the folder; by default everything in its work tree that differs. */
  readonly paths?: readonly string[]
  readonly signal?: AbortSignal
}

export type RestoredPaths = {
  /** The tree before the restoration, with which it can be undone. */
  readonly before: string
  readonly tree: string
  /** Paths that could not be restored, because their content is not stored any more. */
  readonly missing: readonly string[]
}
