import { z } from 'zod'
import { Actor } from './actor.ts'
import { AgentId, RequestId, SessionId, ToolCallId } from './ids.ts'
import { Place } from './place.ts'
import { AnswerSignature } from './signed-answer.ts'
import { Diff, ToolKind } from './tool-call.ts'

export const PermissionMode = z.enum(['ask', 'accept-edits', 'read-only', 'plan', 'bypass'])
export type PermissionMode = z.infer<typeof PermissionMode>

export const PermissionScope = z.enum(['once', 'session', 'project', 'always'])
export type PermissionScope = z.infer<typeof PermissionScope>

export const RuleScope = z.enum(['session', 'project', 'always'])
export type RuleScope = z.infer<typeof RuleScope>

/**
 * The calls that a rule applies to. `tool` is a name, or `*` for every tool. Each entry of `match` names a field of the
 * input and its required text. `*` in that text matches anything, except that in an allow rule it never
 * matches shell control characters. An allow rule that names fields (`match`, `exact`, `any`) covers no call
 * with a field it does not name, unless that field is harmless (`isHarmlessField`). An allow rule that names
 * no fields covers every input of its tool. No allow rule covers files outside the session's folders unless
 * `outside` is set, nor changes to protected files unless `protected` is set.
 */
export const RulePattern = z.object({
  tool: z.string().min(1),
  match: z.record(z.string(), z.string()).optional(),
  exact: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Input fields, each with the value that it must equal' }),
  any: z.array(z.string()).optional().meta({ description: 'Input fields that may have any value' }),
  outside: z.boolean().optional().meta({ description: "Also covers files outside the session's folders" }),
  protected: z.boolean().optional().meta({
    description: 'Also covers changes to protected files: settings of git, agents, editors and shells',
  }),
})
export type RulePattern = z.infer<typeof RulePattern>

export const RuleDecision = z.enum(['allow', 'ask', 'deny', 'disable'])
export type RuleDecision = z.infer<typeof RuleDecision>

/** A standing decision that a person wrote or granted with an answer. It is listed and can be revoked. */
export const PermissionRule = RulePattern.extend({
  ruleId: z.string(),
  decision: RuleDecision,
  scope: RuleScope,
  sessionId: SessionId.optional().meta({ description: 'Required with scope session' }),
  project: z.string().optional().meta({
    description: 'A project, or the folder of sessions; required with scope project',
  }),
  place: Place.optional(),
  agent: AgentId.optional().meta({ description: 'The rule applies only to this agent' }),
  createdAt: z.number(),
  createdBy: Actor.optional().meta({ description: 'The person who wrote or granted the rule' }),
})
export type PermissionRule = z.infer<typeof PermissionRule>

/**
 * One answer that a person can give. `rule` is the rule that is stored with the answer if its scope is wider
 * than `once`.
 */
export const PermissionOption = z.object({
  decision: z.enum(['allow', 'deny']),
  scope: PermissionScope,
  label: z.string(),
  rule: RulePattern.optional(),
})
export type PermissionOption = z.infer<typeof PermissionOption>

export const PermissionRequest = z.object({
  requestId: RequestId,
  toolCallId: ToolCallId.optional(),
  parentToolCallId: ToolCallId.optional(),
  tool: z.string(),
  kind: ToolKind,
  title: z.string(),
  input: z.unknown(),
  inputHash: z
    .string()
    .meta({ description: 'Hash of the tool and its input; a decision applies only to this hash' }),
  reason: z.string().optional(),
  readOnly: z.boolean(),
  outside: z
    .boolean()
    .optional()
    .meta({ description: "The call names a file outside the session's folders" }),
  protected: z
    .boolean()
    .optional()
    .meta({ description: 'The call changes a protected file: settings of git, agents, editors or shells' }),
  options: z.array(PermissionOption).meta({
    description: 'In display order: allow once, allow for the session, deny, then wider scopes',
  }),
  diffs: z.array(Diff).optional().meta({ description: 'The changes that the call would make, one per file' }),
  diff: Diff.optional().meta({ description: 'Only in logs written before `diffs` existed' }),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>

/** The changes in a permission request, whichever protocol version recorded it. */
export function requestedDiffs({ diffs, diff }: Pick<PermissionRequest, 'diffs' | 'diff'>): readonly Diff[] {
  return diffs ?? (diff ? [diff] : [])
}

export const PermissionOutcome = z.enum(['allowed', 'denied', 'cancelled', 'expired'])
export type PermissionOutcome = z.infer<typeof PermissionOutcome>

export const ResolvedBy = z.enum(['person', 'rule', 'mode', 'timeout', 'turn-end', 'task-end'])
export type ResolvedBy = z.infer<typeof ResolvedBy>

export const PermissionResolution = z.object({
  requestId: RequestId,
  outcome: PermissionOutcome,
  scope: PermissionScope.optional(),
  by: ResolvedBy,
  message: z.string().optional(),
  input: z.unknown().optional().meta({ description: 'The input as the person edited it' }),
  endTurn: z.boolean().optional(),
  carriedFrom: RequestId.optional().meta({ description: 'The stale request that this answer was given to' }),
  ruleId: z.string().optional().meta({ description: 'The rule that decided, or that the answer created' }),
  signature: AnswerSignature.optional(),
})
export type PermissionResolution = z.infer<typeof PermissionResolution>
