import { z } from 'zod'
import { Actor } from './actor.ts'
import { Connection } from './agent.ts'
import { CheckRun } from './check.ts'
import { ErrorInfo } from './error.ts'
import { Committed, Discarded, Merged, OpenedPullRequest, Pushed } from './folder-event.ts'
import { AgentId, BlockId, MessageId, PromptId, RoundId, SessionId, ToolCallId, TurnId } from './ids.ts'
import { McpServers } from './mcp-server.ts'
import { PermissionRequest, PermissionResolution } from './permission.ts'
import { PlanEntry, Task } from './plan.ts'
import { Delivery, Outside, PromptPart } from './prompt.ts'
import { QuestionRequest, QuestionResolution } from './question.ts'
import { LeftPaths, RestoredFiles } from './rewind.ts'
import { ForkPoint, SessionCreation, SessionSettings } from './session.ts'
import { Snapshot } from './snapshot.ts'
import { taggedUnion } from './tagged-union.ts'
import { ToolContent, ToolKind, ToolLocation, ToolOutcome } from './tool-call.ts'
import { ParkReason, RecordedBy, TurnCause, TurnEnd } from './turn.ts'
import { Usage } from './usage.ts'
import {
  FilledWorktree,
  KeptWorktree,
  MadeWorktree,
  PreparedWorktree,
  RemovedWorktree,
  WorktreeFailure,
  WorktreeRequest,
} from './worktree.ts'

/**
 * A recorded fact of a session. `seq` counts from 1 without gaps; `at` is milliseconds since 1970. Event names never
 * change; a change of the fields gets a new `version` (absent means 1).
 */
export const envelope = {
  seq: z.int().min(1),
  at: z.number(),
  sessionId: SessionId,
  turnId: TurnId.optional(),
  salt: z.string().optional().meta({
    description:
      'Random characters: a hash of the event does not let anybody confirm a guess of its content. Only in the first event of a log that has seals, and in events of earlier versions; the salts of other events follow from the seed of their seal',
  }),
  actor: Actor.optional().meta({
    description:
      'The person who caused the event, with the browser, token or link. Absent if no command caused it',
  }),
}

function event<Type extends string, Fields extends z.ZodRawShape = Record<never, never>>(
  type: Type,
  fields: Fields = {} as Fields,
) {
  return z.object({
    ...envelope,
    type: z.literal(type),
    version: z.literal(1 as number).optional(),
    ...fields,
  })
}

/** In every event of a subagent: the tool call that started the subagent. Absent for the main agent. */
const parent = { parentToolCallId: ToolCallId.optional() }

const written = {
  blockId: BlockId,
  text: z.string(),
  interrupted: z
    .literal(true)
    .optional()
    .meta({ description: 'The block was interrupted; the text is incomplete' }),
  ...parent,
}

const rewinding = {
  promptId: PromptId,
  from: z.int().min(1),
  talk: z.literal(true).optional(),
  forkPoint: ForkPoint.optional().meta({
    description:
      'The point at which the agent forks its conversation. Absent: the agent has received no prompt since',
  }),
}

export const SessionEvent = taggedUnion('type', [
  // session
  event('session.created', SessionCreation.shape),
  event('session.configured', {
    requested: SessionSettings.optional(),
    effective: SessionSettings.optional(),
    mcpServers: McpServers.optional(),
  }),
  event('session.renamed', { title: z.string(), by: z.enum(['person', 'agent', 'host']) }),
  event('session.archived'),
  event('session.unarchived'),
  event('session.pinned'),
  event('session.unpinned'),
  event('session.forked', { into: SessionId, atSeq: z.int().min(1), before: PromptId.optional() }),
  /** Another session continues the work. `agent` is the agent of that session. */
  event('session.handed-over', { into: SessionId, agent: AgentId }),

  /**
   * The session was rewound to its state before a prompt. If `talk` is set, the events from `from` on are taken back.
   */
  event('session.rewound', {
    ...rewinding,
    files: RestoredFiles.optional().meta({ description: 'Absent: no file was to be restored' }),
  }),
  /** A rewind was undone. `rewound` is the seq of its event. */
  event('session.unrewound', { rewound: z.int().min(1), files: RestoredFiles.optional() }),

  /** The agent's process was ended so that the conversation can continue in the agent's own program. */
  event('session.released'),

  // agent
  event('agent.connected', Connection.shape),
  event('agent.disconnected', {
    reason: z.enum([
      'closed',
      'idle',
      'restarted',
      'parked',
      'crashed',
      'ended',
      'failed-to-start',
      'server-stopped',
      'server-killed',
    ]),
    error: ErrorInfo.optional(),
    exitCode: z.number().nullable().optional(),
    signal: z.string().optional(),
    stderrTail: z.string().optional(),
    recordedBy: RecordedBy.optional(),
  }),
  event('agent.noticed', {
    level: z.enum(['info', 'warning', 'error']),
    code: z.string(),
    text: z.string(),
    data: z.unknown().optional(),
    ...parent,
  }),
  event('agent.unrecognised', { native: z.unknown(), reason: z.string().optional() }),

  // prompt
  event('prompt.submitted', {
    promptId: PromptId,
    parts: z.array(PromptPart),
    delivery: Delivery,
    messageId: MessageId.optional().meta({ description: "The client's id for the prompt" }),
    outside: Outside.optional(),
    paused: z.literal(true).optional().meta({ description: 'The prompt is queued as paused' }),
    by: z.literal('host').optional().meta({ description: 'Written by the host, not by a person' }),
  }),
  event('prompt.queued', {
    promptId: PromptId,
    paused: z.literal(true).optional().meta({
      description: 'A steered prompt whose agent was lost before it confirmed the prompt',
    }),
  }),
  event('prompt.withdrawn', { promptId: PromptId }),
  /** The agent took up a steered prompt. */
  event('prompt.taken', { promptId: PromptId }),
  /** A prompt was moved in the queue: before another waiting prompt, or to the end. */
  event('prompt.moved', { promptId: PromptId, before: PromptId.optional() }),

  // queue
  /**
   * Pauses every prompt that is queued at this point, until queue.resumed. Prompts that are submitted later are not
   * paused.
   */
  event('queue.paused', { by: z.enum(['person']) }),
  event('queue.resumed'),

  // turn
  event('turn.started', {
    promptId: PromptId.optional().meta({ description: 'Absent: the turn started without a prompt' }),
    cause: TurnCause.optional(),
  }),
  event('turn.interrupted', {
    by: z.enum(['person', 'host']),
    reason: z.literal('server-stopped').optional(),
  }),
  event('turn.parked', { reason: ParkReason, recordedBy: RecordedBy.optional() }),
  event('turn.resumed'),
  event('turn.ended', TurnEnd.shape),

  // block
  event('text.written', written),
  event('thinking.written', written),
  event('block.retracted', { blockId: BlockId, reason: z.string().optional() }),

  // tool call
  event('tool-call.called', {
    toolCallId: ToolCallId,
    name: z.string(),
    kind: ToolKind,
    title: z.string(),
    input: z.unknown(),
    locations: z.array(ToolLocation).optional(),
    inferred: z
      .literal(true)
      .optional()
      .meta({ description: 'Only the result was reported; the call is inferred' }),
    ...parent,
  }),
  event('tool-call.updated', {
    toolCallId: ToolCallId,
    title: z.string().optional(),
    kind: ToolKind.optional(),
    input: z.unknown().optional(),
    locations: z.array(ToolLocation).optional(),
    content: z.array(ToolContent).optional(),
    ...parent,
  }),
  event('tool-call.ended', {
    toolCallId: ToolCallId,
    outcome: ToolOutcome,
    content: z.array(ToolContent),
    checked: z.string().optional().meta({
      description:
        'The agent approved the call itself, after the host had found that neither a rule nor the mode refuses it: the hash of the tool and its input',
    }),
    ...parent,
  }),

  // person
  event('permission.requested', PermissionRequest.shape),
  event('permission.resolved', PermissionResolution.shape),
  event('question.asked', QuestionRequest.shape),
  event('question.resolved', QuestionResolution.shape),

  // state
  event('plan.updated', { entries: z.array(PlanEntry), ...parent }),
  event('task.updated', Task.shape),
  event('usage.measured', Usage.shape),
  event('context.compacted', {
    trigger: z.enum(['manual', 'auto']),
    before: z.number().optional(),
    after: z.number().optional(),
    summary: z.string().optional(),
  }),

  // folder
  /** The tree of the session's folder was stored. `turnId` names the turn before or after which it was taken. */
  event('snapshot.taken', Snapshot.shape),
  event('changes.discarded', Discarded.shape),
  /** A discard was undone. `discarded` is the seq of its event. */
  event('changes.restored', { discarded: z.int().min(1) }),
  event('changes.committed', Committed.shape),
  event('branch.pushed', Pushed.shape),
  event('branch.merged', Merged.shape),
  event('pull-request.opened', OpenedPullRequest.shape),
  /** A restoration started. It ends with session.rewound, session.unrewound or restore.failed. */
  event('restore.started', {
    rewind: z.object(rewinding).optional(),
    unrewind: z.int().min(1).optional().meta({ description: 'The seq of the rewind that is undone' }),
    before: z.string().meta({ description: 'The tree of the folder' }),
    to: z.string().meta({ description: 'The same tree with the files that are to be restored' }),
    left: LeftPaths.optional(),
  }),
  /** The restoration failed; no file was restored. `started` is the seq of its restore.started. */
  event('restore.failed', { started: z.int().min(1), error: ErrorInfo }),

  // worktree
  /**
   * A person requested an action on the worktree. `session.created` requests the first action, the creation of the
   * worktree.
   */
  event('worktree.requested', WorktreeRequest.shape),
  event('worktree.made', MadeWorktree.shape),
  /** The worktree is complete, and the agent can work in it. */
  event('worktree.prepared', PreparedWorktree.shape),
  event('worktree.failed', WorktreeFailure.shape),
  event('worktree.removed', RemovedWorktree.shape),
  /** Submodules whose folders were empty were checked out. */
  event('worktree.filled', FilledWorktree.shape),
  /** The worktree of an attempt that was passed over was not removed. */
  event('worktree.kept', KeptWorktree.shape),

  // check
  /** The command of the project that tests the work was started. `check.ran` follows. */
  event('check.started', { command: z.string() }),
  event('check.ran', CheckRun.shape),

  // attempt
  /** A person chose this attempt of a round. If there are several picks, the one with the highest number is valid. */
  event('attempt.picked', { round: RoundId, number: z.int().min(1) }),
  /** Every other attempt has been notified of the pick. */
  event('attempt.settled', { number: z.int().min(1) }),
  /** A person chose another attempt of the round. `by` is the session of that attempt. */
  event('attempt.passed-over', { round: RoundId, number: z.int().min(1), by: SessionId }),

  // log
  /**
   * Seals the events `from` to `to`, which include the previous seal. The rules of `hash` and `signature` are in
   * docs/proof.md.
   */
  event('log.sealed', {
    from: z.int().min(1),
    to: z.int().min(1),
    prev: z.string().meta({ description: 'The hash of the previous seal; empty in the first seal' }),
    hash: z.string(),
    late: z.literal(true).optional().meta({
      description:
        'A version of Parley without seals started the log: the events before this seal were not sealed when they were recorded',
    }),
    keyId: z.string(),
    leaf: z.string().optional().meta({
      description:
        'The hash of this seal as it was before a redaction changed it; only if a later seal needs it',
    }),
    signature: z.string(),
    seed: z.string().optional().meta({
      description:
        'The random text from which the salts of the events `from` to `to` are derived. Not signed; absent in seals of earlier versions, and after a redaction',
    }),
    seeds: z.record(z.string(), z.string()).optional().meta({
      description:
        'What a redaction left of the seed: the secrets of the events that are not redacted. Each name is a level and, after a dot, an index. Not signed',
    }),
  }),
  /** Replaces an event whose content an administrator removed. */
  event('event.redacted', {
    was: z.string().meta({ description: 'The type of the event' }),
    kept: z.record(z.string(), z.unknown()).meta({
      description: 'The fields of the event without its content; they still form a valid event of its type',
    }),
    leaf: z.string().meta({ description: 'The hash of the original event' }),
    reason: z.string(),
    redactedAt: z.number(),
    redactedBy: Actor.optional(),
    keyId: z.string(),
    signature: z.string(),
  }),
])
export type SessionEvent = z.infer<typeof SessionEvent>
export type EventType = SessionEvent['type']
export type EventOf<Type extends EventType> = Extract<SessionEvent, { type: Type }>

/** An event before the log numbered it. The live session sets `turnId`. */
export type EventDraft = SessionEvent extends infer Event
  ? Event extends SessionEvent
    ? Omit<Event, 'seq' | 'at' | 'sessionId'>
    : never
  : never
export type DraftOf<Type extends EventType> = Extract<EventDraft, { type: Type }>

const schemas = new Map<string, z.ZodType>(
  SessionEvent.options.map((schema) => [schema.shape.type.value, schema]),
)
export const eventTypes: ReadonlySet<string> = new Set(schemas.keys())

declare const unknownType: unique symbol
/**
 * The compile-time type of every event type that this build does not know; at run time the value is the actual name. It
 * is a literal type, because plain `string` in the union would prevent narrowing by `event.type === 'text.written'`.
 */
export type UnknownEventType = '(unknown)' & { readonly [unknownType]: true }

/**
 * An event of a type or version that this build does not know. It is stored unchanged. The folds ignore its fields.
 */
export const UnknownEvent = z.looseObject({
  ...envelope,
  type: z.string() as unknown as z.ZodType<UnknownEventType>,
  version: z.number().optional(),
})
export type UnknownEvent = z.infer<typeof UnknownEvent>

/** True for every event whose type and version this build knows. */
export function isKnown(event: SessionEvent | UnknownEvent): event is SessionEvent {
  return eventTypes.has(event.type) && (event.version ?? 1) === 1
}

/**
 * Checks an event that came from outside and returns it unchanged, extra fields included. For an event of an unknown
 * type or version, only the envelope is checked. Throws a ZodError if the check fails.
 */
export function decodeEvent(value: unknown): SessionEvent | UnknownEvent {
  const unknown = UnknownEvent.parse(value)
  const schema = (unknown.version ?? 1) === 1 ? schemas.get(unknown.type) : undefined
  schema?.parse(value)
  return unknown
}

const placeholder = { seq: 1, at: 0, sessionId: '-' }

/** The problem with an adapter's draft that cannot be recorded; undefined if the draft can be recorded. */
export function draftProblem(draft: { type: string }): z.ZodError | undefined {
  const schema = schemas.get(draft.type)
  if (!schema)
    return new z.ZodError([
      { code: 'custom', path: ['type'], message: `unknown event type ${draft.type}`, input: draft },
    ])
  return schema.safeParse({ ...draft, ...placeholder }).error
}
