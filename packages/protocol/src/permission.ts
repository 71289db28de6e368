import { z } from 'zod'
import { AgentId, RequestId, SessionId, ToolCallId } from './ids.ts'
import { Diff, ToolKind } from './tool-call.ts'

export const PermissionMode = z.enum(['ask', 'accept-edits', 'read-only', 'plan', 'bypass'])
export type PermissionMode = z.infer<typeof PermissionMode>

export const PermissionScope = z.enum(['once', 'session', 'project', 'always'])
export type PermissionScope = z.infer<typeof PermissionScope>

export const RuleScope = z.enum(['session', 'project', 'always'])
export type RuleScope = z.infer<typeof RuleScope>

/**
 * What a rule applies to. `tool` is a name, or `*` for every tool. Each entry of `match` names a field of the input
 * and the text it must have; `*` in that text matches anything, but in a rule that allows never the control
 * characters of a shell.
 * A rule that allows and names fields (`match`, `exact`, `any`) covers no call with a field it does not name, except
 * harmless ones (`isHarmlessField`). Without any of the three it covers every input of its tool. In both cases it
 * covers neither files outside the session's folders nor protected ones, unless `outside` or `protected` says so.
 */
export const RulePattern = z.object({
  tool: z.string().min(1),
  match: z.record(z.string(), z.string()).optional(),
  exact: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Fields of the input that must have this very value' }),
  any: z.array(z.string()).optional().meta({ description: 'Fields of the input that may have any value' }),
  outside: z.boolean().optional().meta({ description: "Covers files outside the session's folders, too" }),
  protected: z.boolean().optional().meta({
    description: 'Covers changes of protected files, too: settings of git, agents, editors, shells',
  }),
})
export type RulePattern = z.infer<typeof RulePattern>

export const RuleDecision = z.enum(['allow', 'ask', 'deny', 'disable'])
export type RuleDecision = z.infer<typeof RuleDecision>

/** A standing decision, written by a person or granted with an answer; listed and revocable. */
export const PermissionRule = RulePattern.extend({
  ruleId: z.string(),
  decision: RuleDecision,
  scope: RuleScope,
  sessionId: SessionId.optional().meta({ description: 'With scope session' }),
  project: z.string().optional().meta({ description: 'With scope project: the folder' }),
  agent: AgentId.optional().meta({ description: 'Only for this agent' }),
  createdAt: z.number(),
})
export type PermissionRule = z.infer<typeof PermissionRule>

/** One answer a person can give. `rule` is the rule that a scope wider than once would store. */
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
  inputHash: z.string().meta({ description: 'Of tool and input; a decision is bound to it' }),
  reason: z.string().optional(),
  readOnly: z.boolean(),
  outside: z.boolean().optional().meta({ description: "It reaches beyond the session's folders" }),
  protected: z
    .boolean()
    .optional()
    .meta({ description: 'It changes a protected file: settings of git, agents, editors or shells' }),
  options: z.array(PermissionOption).meta({
    description: 'In the order of their numbers: allow once, for the session, deny, then the wider ones',
  }),
  diffs: z.array(Diff).optional().meta({ description: 'What it would change, file by file' }),
  diff: Diff.optional().meta({ description: 'Only in logs that were written before `diffs` existed' }),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>

/** The changes that a permission was asked for, whichever version of the protocol recorded it. */
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
  carriedFrom: RequestId.optional().meta({ description: 'The stale request whose answer this is' }),
  ruleId: z.string().optional().meta({ description: 'The rule that decided, or that this answer wrote' }),
})
export type PermissionResolution = z.infer<typeof PermissionResolution>
