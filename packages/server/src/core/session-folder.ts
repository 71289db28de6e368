import type { ChangedLines, LeftOut, LeftPath, RewindFile } from '@parley/protocol'

/**
 * PORT. Stores trees of session folders, and restores them. Rules:
 * - a folder is an absolute path as `session.created` records it.
 * - no program that a folder names is run, whether or not the folder is trusted.
 * - a failure rejects with a ParleyError: `not_supported` if the operation is impossible in this folder, `busy` if
 *   trying again can help.
 * - an operation that a kill interrupted can be repeated, and leaves nothing behind that prevents this.
 */
export type SessionFolder = {
  /**
   * Stores the tree of the folder, and keeps it until the session is forgotten. If the folder belongs to a repository,
   * the tree is that of the whole work tree.
   */
  snapshot(folder: string, options: SnapshotOptions): Promise<FolderSnapshot>
  /**
   * Restores the paths to their state in a snapshot, and removes those that it does not contain. Rejects with
   * `conflict`, and changes nothing, if a file changes meanwhile.
   */
  restore(folder: string, options: RestoreOptions): Promise<RestoredPaths>
  /**
   * Takes a snapshot. Compares each of the trees with the next one, and the last one with the snapshot. Also returns
   * the effect of restoring the folder to the first tree. All paths are relative to the folder, and paths outside it
   * are left out. Rejects with `not_found` if a tree is no longer stored.
   */
  compare(folder: string, options: CompareOptions): Promise<ComparedTrees>
  /** Counts the lines and files in which two stored trees of the folder differ. */
  count(folder: string, options: CountOptions): Promise<ChangedLines>
  /** Returns the tree `now` with the contents of another tree at some paths. Changes nothing in the folder. */
  plan(folder: string, options: PlanOptions): Promise<PlannedTree>
  /**
   * Changes the paths in which two trees differ from the first tree to the second. A path whose content is in neither
   * tree is left alone and named. If a kill interrupts the move, a repetition with `again` moves the remaining paths.
   * HEAD, the branches and the index of the repository do not change. Rejects with `conflict` if no path could be
   * written.
   */
  move(folder: string, options: MoveOptions): Promise<MovedFiles>
  /** Keeps the snapshots of a session for its fork too. */
  share(folder: string, sessionId: string, fork: string): Promise<void>
  /** Drops the snapshots of a session. */
  forget(folder: string, sessionId: string): Promise<void>
}

export type SnapshotOptions = { readonly sessionId: string; readonly signal?: AbortSignal }

export type FolderSnapshot = {
  readonly tree: string
  /** The checked-out commit; absent without a repository or a commit. */
  readonly head?: string
  readonly leftOut: readonly LeftOut[]
}

export type RestoreOptions = {
  readonly sessionId: string
  readonly tree: string
  /** The paths to restore, relative to the folder. By default, all paths of its work tree that differ from `tree`. */
  readonly paths?: readonly string[]
  readonly signal?: AbortSignal
}

export type RestoredPaths = {
  /** The tree before the restoration, from which the restoration can be undone. */
  readonly before: string
  readonly tree: string
  /** Paths that could not be restored, because their content is no longer stored. */
  readonly missing: readonly string[]
}

export type CompareOptions = { readonly sessionId: string; readonly trees: readonly string[] }

export type ComparedTrees = {
  readonly now: FolderSnapshot
  /** The changed paths of each step: from each tree to the next one, and from the last tree to `now`. */
  readonly steps: readonly (readonly string[])[]
  /** The changes from `now` to the first tree. `left` is set only for obstacles. */
  readonly files: readonly RewindFile[]
}

export type CountOptions = { readonly from: string; readonly to: string; readonly signal?: AbortSignal }

export type PlanOptions = {
  readonly sessionId: string
  readonly now: string
  readonly tree: string
  readonly paths: readonly string[]
}

/** `left` names the paths that cannot be restored. */
export type PlannedTree = { readonly tree: string; readonly left: readonly LeftPath[] }

export type MoveOptions = {
  readonly sessionId: string
  readonly from: string
  readonly to: string
  /** True if an earlier attempt may have begun this move. */
  readonly again?: boolean
}

export type MovedFiles = {
  /**
   * The tree `after`, with the restored paths in their previous state. Moving from `after` to `before` undoes this
   * move.
   */
  readonly before: string
  readonly after: string
  /** The number of restored paths. */
  readonly count: number
  readonly left: readonly LeftPath[]
}
