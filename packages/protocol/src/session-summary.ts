import { z } from 'zod'
import { runningInBackground } from './background.ts'
import { defined } from './defined.ts'
import { ErrorCode } from './error.ts'
import type { SessionEvent } from './event.ts'
import type { Prompt } from './prompt.ts'
import { AttemptPick, type KnownRound, RoundPart } from './round-part.ts'
import { SessionState } from './session-state.ts'
import { ChangedLines } from './snapshot.ts'
import { PlannedWorktree, WorktreePhase } from './worktree.ts'

/** The error of the last turn, if that turn failed or its outcome is unknown. */
export const TurnFailure = z.object({
  outcome: z.enum(['failed', 'unknown']),
  code: ErrorCode.optional(),
  message: z.string().optional().meta({ description: 'The beginning of the message' }),
})
export type TurnFailure = z.infer<typeof TurnFailure>

export const SessionSummary = SessionState.pick({
  id: true,
  epoch: true,
  seq: true,
  createdAt: true,
  updatedAt: true,
  agent: true,
  cwd: true,
  project: true,
  title: true,
  archived: true,
  pinned: true,
  status: true,
  forkedFrom: true,
}).extend({
  place: z.string().optional().meta({
    description: 'The place of the folder, if several servers share a database (see GET /api/nodes)',
  }),
  awaits: z.string().optional().meta({
    description:
      'The place of the folder, if no server is running there; the session continues when one is running again',
  }),
  waiting: z.int().meta({ description: 'Number of open requests' }),
  paused: z.int().optional().meta({ description: 'Number of paused prompts; absent if none' }),
  tasks: z.int().optional().meta({ description: 'Number of running background tasks; absent if none' }),
  worktree: PlannedWorktree.pick({ branch: true, path: true, of: true })
    .extend({ phase: WorktreePhase })
    .optional()
    .meta({ description: 'The worktree in which the session works' }),
  changed: ChangedLines.optional().meta({
    description: 'How the folder differed from the first snapshot of the session when the last one was taken',
  }),
  round: RoundPart.extend({ pick: AttemptPick.optional() })
    .optional()
    .meta({ description: 'The round of which the session is an attempt' }),
  failure: TurnFailure.optional().meta({
    description: 'Present if the last turn failed and no other turn has started',
  }),
})
export type SessionSummary = z.infer<typeof SessionSummary>

const maxFailureText = 300

export function summarise(state: SessionState): SessionSummary {
  const { id, epoch, seq, createdAt, updatedAt, agent, cwd, title, archived, pinned, status, forkedFrom } =
    state
  const { project, worktree, snapshots, round } = state
  const failure = failureOf(state)
  const paused = pausedPrompts(state)
  const tasks = runningInBackground(state).length
  return {
    ...{ id, epoch, seq, createdAt, updatedAt, agent, cwd, title, archived, pinned, status },
    ...defined({ project, forkedFrom, changed: snapshots?.changed }),
    ...(worktree && { worktree: worktreeIn(worktree) }),
    ...(round && { round: roundIn(round) }),
    waiting: state.requests.length,
    ...(paused > 0 && { paused }),
    ...(tasks > 0 && { tasks }),
    ...(failure && { failure }),
  }
}

function worktreeIn({ branch, path, of, phase }: NonNullable<SessionState['worktree']>) {
  return { branch, path, phase, ...defined({ of }) }
}

function roundIn({ id, attempt, count, pick }: KnownRound) {
  return { id, attempt, count, ...defined({ pick: pick?.state }) }
}

/** The number of queued prompts that wait until the queue is resumed. */
export function pausedPrompts({ queue }: { readonly queue: readonly Pick<Prompt, 'paused'>[] }): number {
  return queue.filter(({ paused }) => paused).length
}

function failureOf({ turn, lastTurn }: SessionState): TurnFailure | undefined {
  if (turn || (lastTurn?.outcome !== 'failed' && lastTurn?.outcome !== 'unknown')) return undefined
  const { outcome, error } = lastTurn
  return { outcome, ...(error && { code: error.code, message: error.message.slice(0, maxFailureText) }) }
}

/**
 * Events that do not change `updatedAt`, by which the session list is sorted: starts and ends of processes, changes
 * that a person makes in the session list, forks, and what the host records by itself.
 */
const bookkeeping: ReadonlySet<string> = new Set([
  'agent.connected',
  'agent.disconnected',
  'session.renamed',
  'session.archived',
  'session.unarchived',
  'session.pinned',
  'session.unpinned',
  'session.forked',
  'session.handed-over',
  'session.released',
  'log.sealed',
  'snapshot.taken',
  'worktree.made',
  'worktree.prepared',
  'worktree.removed',
  'worktree.kept',
  'attempt.settled',
  'attempt.passed-over',
])

/**
 * True if the event changes `updatedAt`. A setting that an agent reports by itself, e.g. at its start, does not change
 * `updatedAt`; a requested setting does.
 */
export function isNews(event: SessionEvent): boolean {
  if (event.type === 'session.configured')
    return event.requested !== undefined || event.mcpServers !== undefined
  return !bookkeeping.has(event.type)
}
