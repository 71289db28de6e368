import type {
  BranchFate,
  LeftOut,
  NewWorktree,
  PlannedWorktree,
  SetupRun,
  WorktreeLoss,
  WorktreeOffer,
} from '@parley/protocol'

/**
 * PORT. Makes worktrees of repositories in the data folder, and removes them. Rules:
 * - no program that an untrusted folder names is run, except the command of `prepare`, which a person has given.
 * - each operation can be repeated after a kill at any moment, and removes the remains of the interrupted one.
 * - a failure rejects with a ParleyError, and leaves no folder behind.
 */
export type Worktrees = {
  offer(folder: string, wanted: WantedFiles): Promise<Omit<WorktreeOffer, 'setup'>>
  /** Plans the path, the branch and the first commit of a worktree. Changes nothing. `folder` is a real path. */
  plan(folder: string, asked: AskedWorktree): Promise<WorktreePlan>
  /**
   * Makes the folder and the branch. The branch may already exist at the wanted commit. With `follows`, it may exist
   * at any commit, which is then checked out.
   */
  make(worktree: PlannedWorktree, how: HowToMake): Promise<Made>
  /** Runs the setup command in the worktree. After `timeoutMs` the command is ended, and `exitCode` is absent. */
  prepare(worktree: PlannedWorktree, how: HowToPrepare): Promise<SetupRun>
  /** Removes the folder of a worktree that was not completed. A branch without commits of its own can be deleted. */
  discard(worktree: PlannedWorktree, how: { branch: BranchFate }): Promise<void>
  isThere(worktree: PlannedWorktree): Promise<boolean>
  /** The number of submodules whose folders are empty. */
  emptySubmodules(worktree: PlannedWorktree): Promise<number>
  /** Returns the content that a removal would delete. Rejects with `not_found` if the folder does not exist. */
  examine(worktree: PlannedWorktree): Promise<Examined>
  /** Removes the folder. The branch is deleted only if it is at `head`. */
  remove(
    worktree: PlannedWorktree,
    how: { branch: BranchFate; head?: string | undefined },
  ): Promise<RemovedBranch>
  /** The folders in which worktrees were made, by name. */
  list(): Promise<FoundFolder[]>
  /** Finds a worktree by the name of its folder, from the files in that folder. Undefined if there is none. */
  found(name: string): Promise<PlannedWorktree | undefined>
}

export type WantedFiles = {
  /** Patterns of ignored files to copy, from the settings of the project. */
  readonly copy: readonly string[]
}

export type AskedWorktree = NewWorktree & {
  /** The commit at which the branch begins, in place of `base`. */
  readonly commit?: string
  /** The work tree from which it is made, if that is not the one of the folder. */
  readonly source?: string
  /** The recorded project of the folder. */
  readonly project: string
  readonly sessionId: string
  /** Words from which the name of the branch is made. */
  readonly words: string
  readonly wanted: WantedFiles
  /** The commit to begin at, if it is known already; `base` is then not looked up. */
  readonly at?: Pick<PlannedWorktree, 'base' | 'from' | 'remote'>
  /** Is added to the name of the branch. */
  readonly suffix?: string
}

/** `cwd` is the folder in the worktree that corresponds to the folder of the request. */
export type WorktreePlan = { readonly worktree: PlannedWorktree; readonly cwd: string }

export type HowToMake = {
  readonly trusted: boolean
  /** The commit to check out. The default is the base. */
  readonly head?: string | undefined
  readonly follows?: boolean
  /** The fate of the branch if this fails and the branch has no commit of its own. The default is `delete`. */
  readonly branch?: BranchFate
  readonly signal: AbortSignal
}

export type Made = {
  readonly head: string
  readonly copied: readonly string[]
  readonly leftOut: readonly LeftOut[]
}

export type HowToPrepare = {
  readonly command: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export type Examined = {
  readonly bytes?: number
  readonly head?: string
  readonly loss: WorktreeLoss
}

export type RemovedBranch = 'kept' | 'deleted'

export type FoundFolder = { readonly name: string; readonly path: string; readonly sessionId: string }
