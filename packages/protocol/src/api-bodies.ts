import { z } from 'zod'
import { Block } from './block.ts'
import { EnvironmentVariables } from './environment.ts'
import { SessionEvent, UnknownEvent } from './event.ts'
import { HandOffSource } from './hand-off.ts'
import { AgentId, CommandId, SessionId } from './ids.ts'
import { McpServers } from './mcp-server.ts'
import { PermissionMode, RuleDecision, RulePattern, RuleScope } from './permission.ts'
import { Place } from './place.ts'
import { PromptParts } from './prompt.ts'
import { SessionOptions } from './session.ts'
import { OpenRequest, SessionState } from './session-state.ts'
import { SessionSummary } from './session-summary.ts'
import { NewWorktree } from './worktree.ts'

/** Request and reply bodies of the HTTP routes. */

const maxContext = 400_000

const NewSessionFields = z.strictObject({
  agent: AgentId,
  cwd: z.string().min(1).optional().meta({
    description: 'May be absent with `from`: the new session then works in the folder of that session',
  }),
  model: z.string().optional(),
  mode: PermissionMode.optional().meta({
    description: '`ask` if absent; with `from`, the mode of that session',
  }),
  title: z.string().max(200).optional(),
  mcpServers: McpServers.optional(),
  options: SessionOptions.strict().optional(),
  prompt: z
    .union([z.string().regex(/\S/, 'the prompt is empty'), PromptParts])
    .optional()
    .meta({ description: 'The first prompt; submitted when the session is created' }),
  commandId: CommandId.optional().meta({
    description: 'Makes the request idempotent: the same id creates one session',
  }),
  trust: z.boolean().optional().meta({ description: 'Also trust the folder' }),
  env: EnvironmentVariables.optional().meta({
    description:
      "Environment variables of the agent's process. Not stored in the log; never returned or exported",
  }),
  from: HandOffSource.optional().meta({
    description: 'The session whose work this one continues; its first prompt contains a hand-off',
  }),
  worktree: NewWorktree.optional().meta({
    description:
      'Works in a new worktree of the repository of `cwd`; the first prompt waits until the worktree is ready',
  }),
  context: z.string().regex(/\S/, 'the context is empty').max(maxContext).optional().meta({
    description: 'The text of the hand-off as a person edited it',
  }),
})

export const NewSession = NewSessionFields.refine(({ cwd, from }) => (cwd ?? from) !== undefined, {
  message: 'a session needs a folder',
  path: ['cwd'],
}).refine(({ context, from }) => context === undefined || from !== undefined, {
  message: 'context is only valid with from',
  path: ['context'],
})
export type NewSession = z.infer<typeof NewSession>
export type NewSessionInput = z.input<typeof NewSession>

/** The fields of a session that are known before its first prompt. */
export const ExpectedSession = NewSessionFields.pick({ agent: true, model: true, options: true }).extend({
  cwd: z.string().min(1),
  mode: PermissionMode.default('ask'),
})
export type ExpectedSession = z.input<typeof ExpectedSession>

export const SessionPatch = z.strictObject({
  title: z.string().trim().min(1).max(200).optional(),
  archived: z.boolean().optional(),
  pinned: z.boolean().optional(),
})
export type SessionPatch = z.infer<typeof SessionPatch>

/**
 * The reply about one session: its state and its last blocks. `firstSeq` is the seq of the first event that these
 * blocks are folded from. Earlier events can be read with `events?before=`.
 */
export const SessionDetail = SessionState.extend({
  place: Place.optional(),
  awaits: SessionSummary.shape.awaits,
  trusted: z.boolean().meta({
    description: 'Whether the folder is trusted now; a change takes effect when the agent next starts',
  }),
  terminal: z
    .array(z.string())
    .optional()
    .meta({ description: "The command that continues this session in the agent's own CLI" }),
  blocks: z.array(Block),
  firstSeq: z.int(),
})
export type SessionDetail = z.infer<typeof SessionDetail>

export const EventPage = z.object({
  events: z.array(z.union([SessionEvent, UnknownEvent])),
  prompts: z
    .array(z.union([SessionEvent, UnknownEvent]))
    .optional()
    .meta({
      description:
        'If requested: the earlier events that contain the queued prompts and the prompts of the turns on this page',
    }),
  head: z.int(),
  epoch: z.string(),
})
export type EventPage = z.infer<typeof EventPage>

export const WaitingRequest = z.object({ session: SessionSummary, request: OpenRequest })
export type WaitingRequest = z.infer<typeof WaitingRequest>

/**
 * Refuses a record with the field `__proto__`. zod would drop that field, and the rule would then cover more calls
 * than the person intended.
 */
const withoutProto = z.custom<Record<string, unknown>>(
  (match) => typeof match !== 'object' || match === null || !Object.hasOwn(match, '__proto__'),
  'a rule cannot match a field with this name',
)
const fieldNames = z.string().min(1).max(200)

export const NewRule = RulePattern.extend({
  tool: RulePattern.shape.tool.max(500),
  match: z
    .record(fieldNames, z.string().max(10_000))
    .refine((match) => Object.keys(match).length <= 50, 'a rule can name at most 50 fields')
    .and(withoutProto)
    .optional(),
  exact: z.record(fieldNames, z.unknown()).and(withoutProto).optional(),
  any: z.array(fieldNames).max(50).optional(),
  decision: RuleDecision,
  scope: RuleScope,
  sessionId: SessionId.optional(),
  project: z.string().optional(),
  place: Place.optional(),
  agent: AgentId.optional(),
})
  .strict()
  .refine((rule) => rule.scope !== 'session' || rule.sessionId !== undefined, {
    message: 'a rule with scope session needs sessionId',
    path: ['sessionId'],
  })
  .refine((rule) => rule.scope !== 'project' || rule.project !== undefined, {
    message: 'a rule with scope project needs project',
    path: ['project'],
  })
  .refine((rule) => rule.place === undefined || rule.project !== undefined, {
    message: 'place is only valid with project',
    path: ['place'],
  })
  .refine(
    ({ decision, any, outside, protected: covers }) => decision === 'allow' || !(any || outside || covers),
    { message: 'any, outside and protected are only valid in a rule that allows', path: ['decision'] },
  )
export type NewRule = z.infer<typeof NewRule>

/**
 * The formats that a session can be exported in: for people, and for programs with another message format.
 */
export const ExportFormat = z.enum([
  'jsonl',
  'markdown',
  'html',
  'ui-messages',
  'incoming-messages',
  'run-events',
])
export type ExportFormat = z.infer<typeof ExportFormat>
