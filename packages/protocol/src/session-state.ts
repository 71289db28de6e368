import { z } from 'zod'
import { Actor } from './actor.ts'
import { Connection } from './agent.ts'
import { OpenBlock } from './block.ts'
import { KnownChecks } from './check.ts'
import { ErrorInfo } from './error.ts'
import { HandOffOrigin } from './hand-off.ts'
import { AgentId, SessionId } from './ids.ts'
import { McpServers } from './mcp-server.ts'
import { PermissionRequest, PermissionResolution } from './permission.ts'
import { PlanEntry, Task } from './plan.ts'
import { Prompt } from './prompt.ts'
import { QuestionRequest, QuestionResolution } from './question.ts'
import { LeftPaths, RestoredFiles } from './rewind.ts'
import { KnownRound } from './round-part.ts'
import {
  ForkOrigin,
  ForkPoint,
  ImportOrigin,
  ProjectPath,
  SessionSettings,
  SessionStatus,
  StartCommit,
} from './session.ts'
import { KnownSnapshots } from './snapshot.ts'
import { taggedUnion } from './tagged-union.ts'
import { ParkReason, TurnCause, TurnEnd } from './turn.ts'
import { Usage } from './usage.ts'
import { KnownWorktree } from './worktree.ts'

const open = {
  at: z.number(),
  turnId: z.string().optional(),
  stale: z.boolean().meta({ description: 'No process waits for the answer; answering resumes the agent' }),
}
export const OpenPermissionRequest = z.object({
  type: z.literal('permission'),
  ...open,
  ...PermissionRequest.shape,
})
export type OpenPermissionRequest = z.infer<typeof OpenPermissionRequest>
export const OpenRequest = taggedUnion('type', [
  OpenPermissionRequest,
  z.object({ type: z.literal('question'), ...open, ...QuestionRequest.shape }),
])
export type OpenRequest = z.infer<typeof OpenRequest>

/** The answer to a stale request, kept until the resumed agent asks again. It applies once. */
export const CarriedAnswer = taggedUnion('type', [
  z.object({ type: z.literal('permission'), inputHash: z.string(), resolution: PermissionResolution }),
  z.object({
    type: z.literal('question'),
    questions: QuestionRequest.shape.questions,
    resolution: QuestionResolution,
  }),
])
export type CarriedAnswer = z.infer<typeof CarriedAnswer>

export const OpenTurn = z.object({
  turnId: z.string(),
  startedAt: z.number(),
  prompt: Prompt.optional().meta({ description: 'Absent: the agent started the turn by itself' }),
  cause: TurnCause.optional(),
  steers: z.array(Prompt).optional().meta({ description: 'Steered prompts that the agent has not taken up' }),
  interrupted: z.boolean(),
  delivered: z.boolean().meta({ description: 'false: the prompt did not reach the agent' }),
  parked: ParkReason.optional(),
  carried: z.array(CarriedAnswer),
  startedTasks: z
    .array(z.string())
    .optional()
    .meta({ description: 'The tasks that started while the turn had carried answers' }),
})
export type OpenTurn = z.infer<typeof OpenTurn>

/** A task, with the answers that were given while it had no process. */
export const KnownTask = Task.extend({ carried: z.array(CarriedAnswer).optional() })
export type KnownTask = z.infer<typeof KnownTask>

/** The last rewind, with the values of the state that undoing it restores. */
export const LastRewind = z.object({
  seq: z.int().meta({ description: 'The seq of the event of the rewind' }),
  promptId: z.string(),
  talk: z.literal(true).optional(),
  files: RestoredFiles.optional(),
  before: z
    .object({
      agentSessionId: z.string().optional(),
      forkPending: z.boolean(),
      forkPoint: ForkPoint.optional(),
      plan: z.array(PlanEntry),
    })
    .meta({ description: 'The conversation and the plan before the rewind' }),
})
export type LastRewind = z.infer<typeof LastRewind>

/** A restoration of files that has started and has not succeeded. */
export const OpenRestore = z.object({
  seq: z.int().meta({ description: 'The seq of restore.started' }),
  before: z.string(),
  to: z.string(),
  rewind: z
    .object({
      promptId: z.string(),
      from: z.int(),
      talk: z.literal(true).optional(),
      forkPoint: ForkPoint.optional(),
    })
    .optional(),
  unrewind: z.int().optional(),
  left: LeftPaths.optional(),
  actor: Actor.optional(),
  failed: ErrorInfo.optional().meta({
    description: 'Why the restoration failed. Kept until the next turn or restoration',
  }),
})
export type OpenRestore = z.infer<typeof OpenRestore>

/** The restoration that must be performed. Undefined if there is none, or if it has failed. */
export function dueRestore({ restore }: Pick<SessionState, 'restore'>): OpenRestore | undefined {
  return restore?.failed ? undefined : restore
}

/**
 * The whole session except its timeline. It is stored with the session, and its size does not grow with the session.
 */
export const SessionState = z.object({
  id: SessionId,
  epoch: z.string(),
  seq: z.int().meta({ description: 'The seq of the last event that the state includes' }),
  createdAt: z.number(),
  updatedAt: z.number(),
  agent: AgentId,
  cwd: z.string(),
  project: ProjectPath.optional(),
  title: z.string(),
  archived: z.boolean(),
  pinned: z.boolean(),
  forkedFrom: ForkOrigin.optional(),
  importedFrom: ImportOrigin.optional(),
  handedFrom: HandOffOrigin.optional(),
  startCommit: StartCommit.optional(),
  worktree: KnownWorktree.optional().meta({
    description: 'The worktree that was made for the session, or in which the session works',
  }),
  round: KnownRound.optional().meta({ description: 'The round of which the session is an attempt' }),
  checks: KnownChecks.optional(),
  status: SessionStatus,
  requested: SessionSettings,
  effective: SessionSettings,
  mcpServers: McpServers.optional(),
  forkPending: z.boolean().meta({ description: "The agent's conversation has not been forked yet" }),
  forkPoint: ForkPoint.optional().meta({
    description: 'The point at which the conversation will be forked. Absent: the end of the conversation',
  }),
  rewound: LastRewind.optional().meta({ description: 'The last rewind, until the next turn' }),
  restore: OpenRestore.optional().meta({ description: 'The restoration of files that is being done' }),
  conversationFrom: z.int().optional().meta({
    description:
      'The seq of the last rewind or undo: an agent that was started earlier has another conversation',
  }),
  connected: z.boolean(),
  connection: Connection.optional().meta({ description: 'The last connection, live or not' }),
  turn: OpenTurn.optional(),
  heard: z
    .array(z.object({ promptId: z.string(), outsideId: z.string().optional() }))
    .optional()
    .meta({ description: 'The last prompts that started or steered a turn, oldest first' }),
  released: z.number().optional().meta({
    description:
      "When the conversation was released to the agent's own program; absent once the agent is connected",
  }),
  lastTurn: TurnEnd.extend({ turnId: z.string(), endedAt: z.number() }).optional(),
  turns: z.int(),
  completedTurns: z.int(),
  queue: z.array(Prompt),
  requests: z.array(OpenRequest),
  settled: z.array(z.object({ requestId: z.string(), outcome: z.string() })),
  plan: z.array(PlanEntry),
  tasks: z.array(KnownTask),
  usage: Usage.optional(),
  openBlocks: z.array(OpenBlock),
  snapshots: KnownSnapshots.optional().meta({ description: "The snapshots of the session's folder" }),
  sealed: z.object({ seq: z.int(), hash: z.string() }).optional().meta({
    description: 'The last seal of the log: its seq and its hash',
  }),
})
export type SessionState = z.infer<typeof SessionState>

export function emptyState(id: string, epoch: string): SessionState {
  return {
    id,
    epoch,
    seq: 0,
    createdAt: 0,
    updatedAt: 0,
    agent: '',
    cwd: '',
    title: '',
    archived: false,
    pinned: false,
    status: 'idle',
    requested: {},
    effective: {},
    forkPending: false,
    connected: false,
    turns: 0,
    completedTurns: 0,
    queue: [],
    requests: [],
    settled: [],
    plan: [],
    tasks: [],
    openBlocks: [],
  }
}
