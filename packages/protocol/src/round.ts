import { z } from 'zod'
import { ErrorInfo } from './error.ts'
import { AgentId, CommandId, RoundId, SessionId } from './ids.ts'
import { PermissionMode } from './permission.ts'
import { Place } from './place.ts'
import { BranchName, CopyPattern, ProjectId } from './project.ts'
import { PromptParts } from './prompt.ts'
import { AttemptNumber, AttemptPick, attemptsInRound } from './round-part.ts'
import { ProjectPath, SessionOptions } from './session.ts'
import { TokenUsage } from './usage.ts'
import { WorktreePhase } from './worktree.ts'

/** A requested attempt: its agent, with the model, the mode and the options. */
export const NewAttempt = z.strictObject({
  agent: AgentId,
  model: z.string().optional(),
  mode: PermissionMode.optional().meta({ description: '`ask` if absent' }),
  options: SessionOptions.strict().optional(),
})
export type NewAttempt = z.infer<typeof NewAttempt>

/** A prompt that several agents or models get, each in its own worktree of the same commit. */
export const NewRound = z
  .strictObject({
    prompt: z.union([z.string().regex(/\S/, 'the prompt is empty'), PromptParts]),
    project: ProjectId.optional().meta({ description: 'Works in the root folder of the project' }),
    cwd: z.string().min(1).optional().meta({ description: 'A folder in a repository, instead of `project`' }),
    base: BranchName.optional().meta({
      description: 'The branch to begin at; by default the commit that is checked out in the folder',
    }),
    copy: z.array(CopyPattern).max(100).optional().meta({
      description:
        'The ignored files to copy, exactly these; by default those that the setting `copy` of the project and `.worktreeinclude` name',
    }),
    title: z.string().trim().min(1).max(200).optional(),
    attempts: z.array(NewAttempt).min(attemptsInRound.min).max(attemptsInRound.max),
    commandId: CommandId.optional().meta({
      description: 'Makes the request idempotent: the same id creates one round',
    }),
  })
  .refine(({ project, cwd }) => (project === undefined) !== (cwd === undefined), {
    message: 'give either project or cwd',
    path: ['project'],
  })
export type NewRound = z.infer<typeof NewRound>
export type NewRoundInput = z.input<typeof NewRound>

/**
 * The state of an attempt. preparing: its worktree is made, or its first turn has not begun. waiting: a request waits for
 * a person. done: its last turn has completed. stopped: its last turn was cancelled. failed: `failure` gives the reason.
 */
export const AttemptState = z.enum(['preparing', 'working', 'waiting', 'done', 'stopped', 'failed'])
export type AttemptState = z.infer<typeof AttemptState>

/** The result of the check of an attempt. */
export const AttemptCheck = z.object({
  running: z.literal(true).optional(),
  exitCode: z
    .int()
    .optional()
    .meta({ description: '0: the check passed. Absent: no check has ended by itself' }),
  error: ErrorInfo.optional().meta({ description: 'Why the last check did not end by itself' }),
  durationMs: z.number().optional(),
  at: z.number().optional().meta({ description: 'When the last check ended. Absent: no check has ended' }),
  outdated: z
    .literal(true)
    .optional()
    .meta({ description: 'The agent has worked, or a person has changed files, since the last check began' }),
  tail: z
    .string()
    .optional()
    .meta({ description: 'The end of the output of the check; only in the reply about one round' }),
})
export type AttemptCheck = z.infer<typeof AttemptCheck>

/** How much an attempt changed: its files compared with those before its first turn. */
export const AttemptChanges = z.object({
  files: z.int(),
  added: z.int().meta({ description: 'Number of added lines, without those of binary files' }),
  removed: z.int(),
  cut: z.literal(true).optional().meta({ description: 'There are more files than were counted' }),
  generated: z.int().optional().meta({ description: 'How many of the files are generated; absent if none' }),
  late: z.literal(true).optional().meta({
    description:
      'The first snapshot was complete only after a tool call that can write files had begun: some changes may be missing',
  }),
})
export type AttemptChanges = z.infer<typeof AttemptChanges>

/** An attempt as its session shows it. Fields that the agent does not report are absent. */
export const Attempt = z.object({
  attempt: AttemptNumber,
  sessionId: SessionId,
  epoch: z.string().meta({ description: 'The epoch of the log of the session' }),
  seq: z.int().meta({ description: 'The last event of the session' }),
  agent: AgentId,
  model: z.string().optional().meta({ description: 'The model that the agent uses, or the requested model' }),
  mode: PermissionMode.optional(),
  effort: z.string().optional(),
  title: z.string(),
  state: AttemptState,
  failure: ErrorInfo.optional(),
  pick: AttemptPick.optional(),
  archived: z.boolean(),
  requests: z.int().meta({ description: 'Number of requests that wait for a person' }),
  turns: z.int().meta({ description: 'Number of turns that have ended' }),
  workedMs: z.number().meta({ description: 'The duration of all turns of the session that have ended' }),
  runningSince: z.number().optional().meta({ description: 'When the running turn began' }),
  worktree: z
    .object({
      phase: WorktreePhase,
      branch: z.string(),
      path: z.string(),
      kept: z.literal(true).optional().meta({
        description:
          'The attempt was passed over, but its worktree was kept, because it has files or commits that exist nowhere else',
      }),
    })
    .optional(),
  changes: AttemptChanges.optional().meta({
    description:
      'Only in the reply about one round. Absent: the changes are not known, or the agent has not begun',
  }),
  check: AttemptCheck.optional().meta({ description: 'Absent: no check was run' }),
  tokens: TokenUsage.optional().meta({ description: 'Absent: the agent does not report tokens' }),
  costUsd: z.number().optional().meta({ description: 'Absent: the agent does not report a cost' }),
  notionalCost: z.literal(true).optional().meta({
    description: 'The cost is a list price; nobody is billed for it',
  }),
})
export type Attempt = z.infer<typeof Attempt>

/** A round as its sessions show it. Nothing else of it is stored. */
export const Round = z.object({
  id: RoundId,
  title: z.string(),
  prompt: z.string().optional().meta({
    description: 'The beginning of the prompt; only in the reply about one round',
  }),
  project: ProjectPath.optional(),
  projectId: ProjectId.optional(),
  place: Place.optional(),
  createdAt: z.number(),
  updatedAt: z.number().meta({ description: 'When a session of the round last changed' }),
  base: z.string().optional().meta({ description: 'The commit from which all attempts began' }),
  from: z.string().optional().meta({ description: 'The name of the branch that was at that commit' }),
  count: z.int().meta({ description: 'The number of attempts when the round was made' }),
  attempts: z.array(Attempt).meta({
    description: 'By number. Attempts that were deleted, or that the caller may not see, are left out',
  }),
  picked: AttemptNumber.optional(),
  checkable: z.boolean().meta({ description: 'The project has a command that checks the attempts' }),
})
export type Round = z.infer<typeof Round>
