import type {
  BranchInfo,
  Command,
  CommandOf,
  Committed,
  Discarded,
  FilledWorktree,
  Merged,
  MergePreview,
  OpenedPullRequest,
  PullRequestInfo,
  Pushed,
  ReplyOf,
} from '@parley/protocol'

/**
 * PORT. Changes the folder and the repository of a session, and its remote, for a person. Rules:
 * - a folder is an absolute path as `session.created` records it.
 * - in an untrusted folder, no program that the folder names is run, and no remote is contacted.
 * - if the content of a file differs from the content that the command names, the operation rejects with ParleyError
 *   `conflict` and changes nothing.
 * - an operation that a kill interrupted can be repeated with the same command, and does not repeat completed steps.
 */
export type FolderChanges = {
  discard(folder: string, asked: Asked<'changes.discard'>): Promise<Discarded>
  /** Undoes a discard. */
  restore(folder: string, asked: Omit<Asked<'changes.restore'>, 'command'> & Undone): Promise<void>
  stage(folder: string, asked: Asked<'changes.stage'> | Asked<'changes.unstage'>): Promise<void>
  commit(folder: string, asked: Asked<'changes.commit'>): Promise<Committed>
  push(folder: string, asked: Asked<'branch.push'>): Promise<Pushed>
  /** Reads the checked-out branch. The remote is not contacted. */
  branch(folder: string, asked: Looked): Promise<BranchInfo>
  /** Reads the pull request of the branch with the command-line program of its host. */
  pullRequest(folder: string, asked: Looked): Promise<PullRequestInfo>
  /** Reads the logs of the failed checks of the pull request. */
  checkLogs(folder: string, asked: Looked): Promise<CheckLogs>
  /** Returns the effect of a merge of the checked-out branch into the base branch. Changes nothing. */
  previewMerge(folder: string, asked: Looked): Promise<MergePreview>
  merge(folder: string, asked: Asked<'branch.merge'>): Promise<Merged>
  /** Checks out the submodules whose folders are empty. Submodules with files are left alone. */
  fillSubmodules(folder: string, asked: Asked<'worktree.fill'>): Promise<FilledWorktree>
  openPullRequest(folder: string, asked: Asked<'pull-request.open'>): Promise<OpenedPullRequest>
}

export type CheckLogs = ReplyOf<'getCheckLogs'>

export type Asked<Type extends FolderCommand['type']> = {
  readonly sessionId: string
  readonly command: CommandOf<Type>
  /** The base branch that a person has set for the project. */
  readonly base: string | undefined
  /** The branch from which the worktree was made: the base branch if neither a person nor the repository names one. */
  readonly madeFrom?: string | undefined
  readonly trusts: (folder: string) => boolean
  /** Called with the last lines that the programs of the work have written, as plain text. */
  readonly progress?: (text: string) => void
  /** Aborts the operation, which can then be repeated. */
  readonly signal: AbortSignal
}

export type Looked = Pick<Asked<FolderCommand['type']>, 'base' | 'madeFrom' | 'trusts'>

export type Undone = { readonly discarded: Discarded }

export const folderCommands = [
  'changes.discard',
  'changes.restore',
  'changes.stage',
  'changes.unstage',
  'changes.commit',
  'branch.push',
  'branch.merge',
  'worktree.fill',
  'pull-request.open',
] as const satisfies readonly Command['type'][]

/** A command whose operation in the folder is complete before the command is recorded. */
export type FolderCommand = CommandOf<(typeof folderCommands)[number]>

export function isFolderCommand(command: Command): command is FolderCommand {
  return (folderCommands as readonly Command['type'][]).includes(command.type)
}
