import { z } from 'zod'
import { Connection } from './agent.ts'
import { ErrorInfo } from './error.ts'
import { BlockId, MessageId, PromptId, SessionId, ToolCallId, TurnId } from './ids.ts'
import { McpServers } from './mcp-server.ts'
import { PermissionRequest, PermissionResolution } from './permission.ts'
import { PlanEntry, Task } from './plan.ts'
import { Delivery, Outside, PromptPart } from './prompt.ts'
import { QuestionRequest, QuestionResolution } from './question.ts'
import { SessionCreation, SessionSettings } from './session.ts'
import { ToolContent, ToolKind, ToolLocation, ToolOutcome } from './tool-call.ts'
import { ParkReason, TurnCause, TurnEnd } from './turn.ts'
import { Usage } from './usage.ts'

/**
 * A recorded fact of a session. `seq` counts from 1 without gaps; `at` is milliseconds since 1970. Event
 * names never change; a change of shape is a new `version` (absent means 1).
 */
export const envelope = {
  seq: z.int().min(1),
  at: z.number(),
  sessionId: SessionId,
  turnId: TurnId.optional(),
}

function defineEvent<Type extends string, Fields extends z.ZodRawShape>(definition: {
  type: Type
  version: number
  fields: Fields
}) {
  const { type, version, fields } = definition
  const schema = z.object({
    ...envelope,
    type: z.literal(type),
    version: z.literal(version).optional(),
    ...fields,
  })
  return { type, version, schema }
}

/** The tool call that started the subagent, on everything that the subagent produced. */
const parent = { parentToolCallId: ToolCallId.optional() }

// session
const SessionCreated = defineEvent({ type: 'session.created', version: 1, fields: SessionCreation.shape })
const SessionConfigured = defineEvent({
  type: 'session.configured',
  version: 1,
  fields: {
    requested: SessionSettings.optional(),
    effective: SessionSettings.optional(),
    mcpServers: McpServers.optional(),
  },
})
const SessionRenamed = defineEvent({
  type: 'session.renamed',
  version: 1,
  fields: { title: z.string(), by: z.enum(['person', 'agent', 'host']) },
})
const SessionArchived = defineEvent({ type: 'session.archived', version: 1, fields: {} })
const SessionUnarchived = defineEvent({ type: 'session.unarchived', version: 1, fields: {} })
const SessionPinned = defineEvent({ type: 'session.pinned', version: 1, fields: {} })
const SessionUnpinned = defineEvent({ type: 'session.unpinned', version: 1, fields: {} })
const SessionForked = defineEvent({
  type: 'session.forked',
  version: 1,
  fields: { into: SessionId, atSeq: z.int().min(1) },
})

/** The agent's process was ended so that the conversation can continue in the agent's own program. */
const SessionReleased = defineEvent({ type: 'session.released', version: 1, fields: {} })

// agent
const AgentConnected = defineEvent({ type: 'agent.connected', version: 1, fields: Connection.shape })
const AgentDisconnected = defineEvent({
  type: 'agent.disconnected',
  version: 1,
  fields: {
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
  },
})
const AgentNoticed = defineEvent({
  type: 'agent.noticed',
  version: 1,
  fields: {
    level: z.enum(['info', 'warning', 'error']),
    code: z.string(),
    text: z.string(),
    data: z.unknown().optional(),
    ...parent,
  },
})
const AgentUnrecognised = defineEvent({
  type: 'agent.unrecognised',
  version: 1,
  fields: { native: z.unknown(), reason: z.string().optional() },
})

// prompt
const PromptSubmitted = defineEvent({
  type: 'prompt.submitted',
  version: 1,
  fields: {
    promptId: PromptId,
    parts: z.array(PromptPart),
    delivery: Delivery,
    messageId: MessageId.optional().meta({ description: "The client's id for the prompt" }),
    outside: Outside.optional(),
    paused: z.literal(true).optional().meta({ description: 'The prompt is queued as paused' }),
    by: z.literal('host').optional().meta({ description: 'Written by the host, not by a person' }),
  },
})
const PromptQueued = defineEvent({
  type: 'prompt.queued',
  version: 1,
  fields: {
    promptId: PromptId,
    paused: z.literal(true).optional().meta({
      description: 'A steered prompt whose agent was lost before it confirmed the prompt',
    }),
  },
})
const PromptWithdrawn = defineEvent({ type: 'prompt.withdrawn', version: 1, fields: { promptId: PromptId } })
/** The agent took up a steered prompt. */
const PromptTaken = defineEvent({ type: 'prompt.taken', version: 1, fields: { promptId: PromptId } })
/** A prompt was moved in the queue: before another waiting prompt, or to the end. */
const PromptMoved = defineEvent({
  type: 'prompt.moved',
  version: 1,
  fields: { promptId: PromptId, before: PromptId.optional() },
})

// queue
/**
 * Every prompt that is queued at this point waits for queue.resumed. Prompts that are submitted later do not.
 */
const QueuePaused = defineEvent({ type: 'queue.paused', version: 1, fields: { by: z.enum(['person']) } })
const QueueResumed = defineEvent({ type: 'queue.resumed', version: 1, fields: {} })

// turn
const TurnStarted = defineEvent({
  type: 'turn.started',
  version: 1,
  fields: {
    promptId: PromptId.optional().meta({ description: 'Absent: the turn started without a prompt' }),
    cause: TurnCause.optional(),
  },
})
const TurnInterrupted = defineEvent({
  type: 'turn.interrupted',
  version: 1,
  fields: { by: z.enum(['person', 'host']) },
})
const TurnParked = defineEvent({ type: 'turn.parked', version: 1, fields: { reason: ParkReason } })
const TurnResumed = defineEvent({ type: 'turn.resumed', version: 1, fields: {} })
const TurnEnded = defineEvent({ type: 'turn.ended', version: 1, fields: TurnEnd.shape })

// block
const written = {
  blockId: BlockId,
  text: z.string(),
  interrupted: z
    .literal(true)
    .optional()
    .meta({ description: 'The block was interrupted; its text is incomplete' }),
  ...parent,
}
const TextWritten = defineEvent({ type: 'text.written', version: 1, fields: written })
const ThinkingWritten = defineEvent({ type: 'thinking.written', version: 1, fields: written })
const BlockRetracted = defineEvent({
  type: 'block.retracted',
  version: 1,
  fields: { blockId: BlockId, reason: z.string().optional() },
})

// tool call
const ToolCallCalled = defineEvent({
  type: 'tool-call.called',
  version: 1,
  fields: {
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
  },
})
const ToolCallUpdated = defineEvent({
  type: 'tool-call.updated',
  version: 1,
  fields: {
    toolCallId: ToolCallId,
    title: z.string().optional(),
    kind: ToolKind.optional(),
    input: z.unknown().optional(),
    locations: z.array(ToolLocation).optional(),
    content: z.array(ToolContent).optional(),
    ...parent,
  },
})
const ToolCallEnded = defineEvent({
  type: 'tool-call.ended',
  version: 1,
  fields: { toolCallId: ToolCallId, outcome: ToolOutcome, content: z.array(ToolContent), ...parent },
})

// person
const PermissionRequested = defineEvent({
  type: 'permission.requested',
  version: 1,
  fields: PermissionRequest.shape,
})
const PermissionResolved = defineEvent({
  type: 'permission.resolved',
  version: 1,
  fields: PermissionResolution.shape,
})
const QuestionAsked = defineEvent({ type: 'question.asked', version: 1, fields: QuestionRequest.shape })
const QuestionResolved = defineEvent({
  type: 'question.resolved',
  version: 1,
  fields: QuestionResolution.shape,
})

// state
const PlanUpdated = defineEvent({
  type: 'plan.updated',
  version: 1,
  fields: { entries: z.array(PlanEntry), ...parent },
})
const TaskUpdated = defineEvent({ type: 'task.updated', version: 1, fields: Task.shape })
const UsageMeasured = defineEvent({ type: 'usage.measured', version: 1, fields: Usage.shape })
const ContextCompacted = defineEvent({
  type: 'context.compacted',
  version: 1,
  fields: {
    trigger: z.enum(['manual', 'auto']),
    before: z.number().optional(),
    after: z.number().optional(),
    summary: z.string().optional(),
  },
})

export const SessionEvent = z.discriminatedUnion('type', [
  SessionCreated.schema,
  SessionConfigured.schema,
  SessionRenamed.schema,
  SessionArchived.schema,
  SessionUnarchived.schema,
  SessionPinned.schema,
  SessionUnpinned.schema,
  SessionForked.schema,
  SessionReleased.schema,
  AgentConnected.schema,
  AgentDisconnected.schema,
  AgentNoticed.schema,
  AgentUnrecognised.schema,
  PromptSubmitted.schema,
  PromptQueued.schema,
  PromptWithdrawn.schema,
  PromptTaken.schema,
  PromptMoved.schema,
  QueuePaused.schema,
  QueueResumed.schema,
  TurnStarted.schema,
  TurnInterrupted.schema,
  TurnParked.schema,
  TurnResumed.schema,
  TurnEnded.schema,
  TextWritten.schema,
  ThinkingWritten.schema,
  BlockRetracted.schema,
  ToolCallCalled.schema,
  ToolCallUpdated.schema,
  ToolCallEnded.schema,
  PermissionRequested.schema,
  PermissionResolved.schema,
  QuestionAsked.schema,
  QuestionResolved.schema,
  PlanUpdated.schema,
  TaskUpdated.schema,
  UsageMeasured.schema,
  ContextCompacted.schema,
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
 * The compile-time type of every event type that this build does not know; at run time the value is the
 * actual name. It is a literal type, because a union with plain `string` would not narrow: `event.type ===
 * 'text.written'` leaves that one event.
 */
export type UnknownEventType = '(unknown)' & { readonly [unknownType]: true }

/**
 * An event of a type or version that this build does not know. It is kept whole and changes nothing in the
 * fold.
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
 * Checks an event that came from outside and returns it unchanged, extra fields included. Of an unknown type
 * or version, only the envelope is checked. Throws a ZodError if the check fails.
 */
export function decodeEvent(value: unknown): SessionEvent | UnknownEvent {
  const unknown = UnknownEvent.parse(value)
  const schema = (unknown.version ?? 1) === 1 ? schemas.get(unknown.type) : undefined
  schema?.parse(value)
  return unknown
}

const placeholder = { seq: 1, at: 0, sessionId: '-' }

/** Why an adapter's draft cannot be recorded; undefined if it can. */
export function draftProblem(draft: { type: string }): z.ZodError | undefined {
  const schema = schemas.get(draft.type)
  if (!schema)
    return new z.ZodError([
      { code: 'custom', path: ['type'], message: `unknown event type ${draft.type}`, input: draft },
    ])
  return schema.safeParse({ ...draft, ...placeholder }).error
}
