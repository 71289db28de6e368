import { z } from 'zod'
import { ErrorInfo } from './error.ts'
import { SessionId } from './ids.ts'
import { BranchName, CopyPattern } from './project.ts'
import { LeftOut } from './snapshot.ts'

/** The worktree that a new session requests. */
export const NewWorktree = z.strictObject({
  base: BranchName.optional().meta({
    description: 'The branch to begin at; by default the commit that is checked out in `cwd`',
  }),
  branch: BranchName.optional().meta({
    description: 'The new branch; by default `parley/` and words of the title or the prompt',
  }),
  copy: z.array(CopyPattern).max(100).optional().meta({
    description:
      'The ignored files to copy, exactly these; by default those that the setting `copy` of the project and `.worktreeinclude` name',
  }),
})
export type NewWorktree = z.infer<typeof NewWorktree>

/** A worktree for a fork. It begins at the commit that was checked out at the moment of the fork, with the files of that moment. */
export const ForkWorktree = NewWorktree.pick({ branch: true, copy: true })
export type ForkWorktree = z.infer<typeof ForkWorktree>

/** The worktree of a session, as it was planned when the session was created. */
export const PlannedWorktree = z.object({
  branch: z.string().meta({ description: 'The branch that was made for the worktree' }),
  base: z.string().meta({ description: 'The commit at which the branch began' }),
  from: z.string().optional().meta({ description: 'The name of the branch that was at that commit' }),
  path: z.string(),
  source: z.string().meta({ description: 'The work tree from which the worktree was made' }),
  tree: z
    .string()
    .optional()
    .meta({ description: 'The snapshot whose files the worktree gets; set for a fork' }),
  copy: z
    .array(z.string())
    .optional()
    .meta({ description: 'The ignored files to copy from the work tree `source`' }),
  remote: z.literal(true).optional().meta({
    description:
      'The worktree began at a branch of another repository: it inherits no trust and no ignored files, and the setup command does not run',
  }),
  of: SessionId.optional().meta({
    description: 'The session for which it was made, if that is another session',
  }),
})
export type PlannedWorktree = z.infer<typeof PlannedWorktree>

export const WorktreeAction = z.enum(['make', 'remove', 'restore'])
export type WorktreeAction = z.infer<typeof WorktreeAction>

/** The fate of the branch when its worktree is removed. */
export const BranchFate = z.enum(['keep', 'delete'])
export type BranchFate = z.infer<typeof BranchFate>

/** A run of the command that prepares a worktree. */
export const SetupRun = z.object({
  command: z.string(),
  exitCode: z.int().optional().meta({ description: 'Absent: the command did not end by itself' }),
  durationMs: z.number(),
  tail: z.string().meta({ description: 'The end of the output of the command' }),
})
export type SetupRun = z.infer<typeof SetupRun>

export const WorktreeRequest = z.object({
  action: WorktreeAction,
  branch: BranchFate.optional(),
  setup: z.literal(false).optional().meta({ description: 'Do not run the setup command' }),
})
export type WorktreeRequest = z.infer<typeof WorktreeRequest>

export const MadeWorktree = z.object({
  copied: z.array(z.string()).optional().meta({ description: 'The ignored files that were copied' }),
  leftOut: z.array(LeftOut).optional().meta({ description: 'Paths that the worktree does not have' }),
  restored: z.literal(true).optional(),
})
export type MadeWorktree = z.infer<typeof MadeWorktree>

export const WorktreeFailure = z.object({
  action: WorktreeAction,
  error: ErrorInfo,
  setup: SetupRun.optional(),
})
export type WorktreeFailure = z.infer<typeof WorktreeFailure>

/** A removed worktree, with the data from which it can be restored. */
export const RemovedWorktree = z.object({
  branch: z.enum(['kept', 'deleted']),
  head: z.string().optional().meta({ description: 'The commit that was checked out' }),
  tree: z.string().optional().meta({ description: 'The last snapshot of the folder' }),
  missing: z.literal(true).optional().meta({ description: 'Somebody had deleted the folder by hand' }),
})
export type RemovedWorktree = z.infer<typeof RemovedWorktree>

export const PreparedWorktree = z.object({
  setup: SetupRun.optional().meta({ description: 'Absent: no command was run' }),
  submodules: z
    .int()
    .optional()
    .meta({ description: 'Number of submodules whose folders are empty. Absent: none' }),
})
export type PreparedWorktree = z.infer<typeof PreparedWorktree>

/** The submodules that were checked out. */
export const FilledWorktree = z.object({
  submodules: z.array(z.string()).meta({ description: 'Their folders' }),
  output: z.string().optional().meta({ description: 'The end of the output of git' }),
})
export type FilledWorktree = z.infer<typeof FilledWorktree>

/** Why a worktree was kept: its content that exists nowhere else, or the other sessions that work in it. */
export const KeptWorktree = z.object({
  ignoredFiles: z.int().optional(),
  loose: z.int().optional().meta({ description: 'Number of commits that are on no branch' }),
  leftOut: z.array(LeftOut).optional(),
  sessions: z.array(SessionId).optional(),
  error: ErrorInfo.optional().meta({ description: 'Why the worktree could not be examined' }),
})
export type KeptWorktree = z.infer<typeof KeptWorktree>

/**
 * The phase of a worktree.
 * - making, preparing, restoring, removing: the host performs this step, and a restart repeats it.
 * - ready: the agent can work in the worktree.
 * - failed: there is no folder, because it could not be made or prepared.
 * - removed: there is no folder, but it can be restored.
 */
export const WorktreePhase = z.enum([
  'making',
  'preparing',
  'ready',
  'failed',
  'removing',
  'removed',
  'restoring',
])
export type WorktreePhase = z.infer<typeof WorktreePhase>

export const KnownWorktree = PlannedWorktree.extend({
  phase: WorktreePhase,
  since: z.number().meta({ description: 'When this phase began' }),
  request: WorktreeRequest.optional().meta({ description: 'The last command of a person' }),
  made: MadeWorktree.optional(),
  setup: SetupRun.optional().meta({ description: 'The last run of the setup command' }),
  failure: WorktreeFailure.optional().meta({ description: 'Why the last action failed' }),
  saved: z
    .object({ head: z.string().optional(), tree: z.string().optional() })
    .optional()
    .meta({ description: 'The commit and the snapshot before the removal, which a restoration restores' }),
  removed: RemovedWorktree.optional(),
  submodules: z.int().optional().meta({
    description: 'Number of submodules whose folders were empty when it became ready. Absent: none',
  }),
  kept: KeptWorktree.optional().meta({
    description: 'Why the worktree was not removed when the attempt was passed over',
  }),
})
export type KnownWorktree = z.infer<typeof KnownWorktree>

const underWay: ReadonlySet<WorktreePhase> = new Set(['making', 'preparing', 'removing', 'restoring'])

/** True if the host is making, preparing, removing or restoring the worktree of a session. */
export function isWorktreeUnderWay(worktree: Pick<KnownWorktree, 'phase'> | undefined): boolean {
  return worktree !== undefined && underWay.has(worktree.phase)
}

/** The content that `worktree.remove` would delete, apart from tracked files that are committed. */
export const WorktreeLoss = z.object({
  changes: z
    .int()
    .meta({ description: 'Number of files that are not committed; a restoration restores them' }),
  commits: z.int().meta({
    description: 'Number of commits that only the branch of the worktree has; lost if the branch is deleted',
  }),
  loose: z.int().meta({ description: 'Number of commits that are on no branch at all' }),
  ignored: z.array(z.string()).meta({
    description: 'Ignored files and folders, at most 50; they cannot be restored',
  }),
  ignoredFiles: z
    .int()
    .meta({ description: 'Number of ignored files that are in no ignored folder, except unchanged copies' }),
  leftOut: z
    .array(LeftOut)
    .meta({ description: 'Paths that snapshots do not contain; they cannot be restored' }),
})
export type WorktreeLoss = z.infer<typeof WorktreeLoss>

/** True if everything that the removal would delete also exists elsewhere. Ignored folders do not count. */
export function losesNothing({ changes, commits, loose, ignoredFiles, leftOut }: WorktreeLoss): boolean {
  return changes + commits + loose + ignoredFiles + leftOut.length === 0
}

/** The worktree of a session, as it is now. */
export const SessionWorktree = z.object({
  worktree: KnownWorktree,
  isThere: z.boolean(),
  bytes: z.number().optional(),
  loss: WorktreeLoss.optional().meta({ description: 'Absent if the folder does not exist' }),
  others: z
    .array(SessionId)
    .meta({ description: 'Other sessions that work in the worktree and are not archived' }),
})
export type SessionWorktree = z.infer<typeof SessionWorktree>

/** The folder of a worktree, inside the data folder. */
export const ListedWorktree = z.object({
  name: z.string().meta({ description: 'The name of the folder' }),
  path: z.string(),
  bytes: z.number().optional(),
  branch: z.string().optional(),
  session: z
    .object({ id: SessionId, title: z.string(), archived: z.boolean(), updatedAt: z.number() })
    .optional()
    .meta({ description: 'The session of the worktree; absent for an orphan, whose session was deleted' }),
  phase: WorktreePhase.optional(),
  loss: WorktreeLoss.optional().meta({
    description: 'What a removal would delete for good; absent if that is not known',
  }),
})
export type ListedWorktree = z.infer<typeof ListedWorktree>

/** The branches from which a worktree of a folder's repository can be made. */
export const WorktreeOffer = z.object({
  refused: ErrorInfo.optional().meta({
    description: 'Why no worktree can be made; the other fields are then empty',
  }),
  head: z.string().optional().meta({ description: 'The branch that is checked out' }),
  branches: z.array(z.string()).meta({ description: 'The local branches, the latest first, at most 200' }),
  remotes: z
    .array(z.string())
    .meta({ description: 'The branches of remotes, the latest first, at most 200' }),
  changes: z.int().meta({
    description: 'Number of changes in the folder that are not committed; the worktree does not get them',
  }),
  copy: z.array(z.object({ path: z.string(), bytes: z.number(), chosen: z.boolean() })).meta({
    description: 'Ignored files that can be copied. Those that a setting names are selected by default',
  }),
  setup: z.boolean().meta({ description: 'Whether the setup command will run in the worktree' }),
  submodules: z
    .boolean()
    .meta({ description: 'Whether the repository has submodules, whose folders will be empty' }),
  files: z.int().meta({ description: 'Number of files that are tracked' }),
  freeBytes: z.number(),
})
export type WorktreeOffer = z.infer<typeof WorktreeOffer>
