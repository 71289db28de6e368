import type {
  BranchInfo,
  Command,
  CommandOf,
  Committed,
  Discarded,
  Merged,
  MergePreview,
  OpenedPullRequest,
  PullRequestInfo,
  Pushed,
} from '@parley/protocol'

/**
 * PORT. Writes for a person in the folder of a session, in its repository, and at other machines. Rules:
 * - a folder is an absolute path as `session.created` records it.
 * - in a folder that is not trusted, nothing that the folder names is run, and no other machine is reached.
 * - a file that has another content than the command says is not changed: the work rejects with ParleyError `conflict`,
 *   and nothing is changed.
 * - work that was killed at any moment can be repeated with the same command. What was done already is not done again.
 */
export type FolderChanges = {
  discard(folder: string, asked: Asked<'changes.discard'>): Promise<Discarded>
  /** Undoes a discard. */
  restore(folder: string, asked: Omit<Asked<'changes.restore'>, 'command'> & Undone): Promise<void>
  stage(folder: string, asked: Asked<'changes.stage'> | Asked<'changes.unstage'>): Promise<void>
  commit(folder: string, asked: Asked<'changes.commit'>): Promise<Committed>
  push(folder: string, asked: Asked<'branch.push'>): Promise<Pushed>
  /** The checked-out branch. No other machine is asked. */
  branch(folder: string, asked: Looked): Promise<BranchInfo>
  /** The pull request of the branch, as the program of its host tells it. */
  pullRequest(folder: string, asked: Looked): Promise<PullRequestInfo>
  /** What a merge of the checked-out branch into the base branch would do. Nothing is changed. */
  previewMerge(folder: string, asked: Looked): Promise<MergePreview>
  merge(folder: string, asked: Asked<'branch.merge'>): Promise<Merged>
  openPullRequest(folder: string, asked: Asked<'pull-request.open'>): Promise<OpenedPullRequest>
}

export type Asked<Type extends FolderCommand['type']> = {
  readonly sessionId: string
  readonly command: CommandOf<Type>
  /** The base branch that a person has set for the project. */
  readonly base: string | undefined
  /** Whether a folder is trusted. */
  readonly trusts: (folder: string) => boolean
  /** Aborts the work, which can then be repeated. */
  readonly signal: AbortSignal
}

export type Looked = Pick<Asked<FolderCommand['type']>, 'base' | 'trusts'>

export type Undone = { readonly discarded: Discarded }

export const folderCommands = [
  'changes.discard',
  'changes.restore',
  'changes.stage',
  'changes.unstage',
  'changes.commit',
  'branch.push',
  'branch.merge',
  'pull-request.open',
] as const satisfies readonly Command['type'][]

/** A command whose work is done in the folder before the command is recorded. */
export type FolderCommand = CommandOf<(typeof folderCommands)[number]>

export function isFolderCommand(command: Command): command is FolderCommand {
  return (folderCommands as readonly Command['type'][]).includes(command.type)
}
