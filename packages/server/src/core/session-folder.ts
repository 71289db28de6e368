import type { ChangedLines, LeftOut, LeftPath, RewindFile } from '@parley/protocol'

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
  /**
   * Takes a snapshot, compares each of the trees with the next one and the last one with the snapshot, and says what
   * restoring the folder to the first one would do. All paths are relative to the folder, and those outside it are left
   * out. Rejects with `not_found` if a tree is not stored any more.
   */
  compare(folder: string, options: CompareOptions): Promise<ComparedTrees>
  /** How much the folder differs in two stored trees. */
  count(folder: string, options: CountOptions): Promise<ChangedLines>
  /** Makes the tree `now` with the contents of another tree at some paths. Changes nothing in the folder. */
  plan(folder: string, options: PlanOptions): Promise<PlannedTree>
  /**
   * Moves the paths in which two trees differ from the one to the other. A path whose content is in neither tree is
   * left alone and named. Repeating it after a kill, with `again`, moves the rest. HEAD, the branches and the index of
   * the repository do not change. Rejects with `conflict` if nothing could be written.
   */
  move(folder: string, options: MoveOptions): Promise<MovedFiles>
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

export type CompareOptions = { readonly sessionId: string; readonly trees: readonly string[] }

export type ComparedTrees = {
  readonly now: FolderSnapshot
  /** The changed paths: from each tree to the next one, and from the last tree to `now`. */
  readonly steps: readonly (readonly string[])[]
  /** From `now` to the first tree. `left` names only obstacles. */
  readonly files: readonly RewindFile[]
}

export type CountOptions = { readonly from: string; readonly to: string; readonly signal?: AbortSignal }

export type PlanOptions = {
  readonly sessionId: string
  readonly now: string
  readonly tree: string
  readonly paths: readonly string[]
}

/** `left`: the paths that cannot be restored. */
export type PlannedTree = { readonly tree: string; readonly left: readonly LeftPath[] }

export type MoveOptions = {
  readonly sessionId: string
  readonly from: string
  readonly to: string
  /** The same restoration may have been begun before. */
  readonly again?: boolean
}

export type MovedFiles = {
  /** The tree `after`, with the restored paths as they were before. A restoration from `after` to `before` undoes this one. */
  readonly before: string
  readonly after: string
  /** The number of restored paths. */
  readonly count: number
  readonly left: readonly LeftPath[]
}
