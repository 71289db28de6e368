import {
  type PermissionMode,
  type PermissionOption,
  type PermissionRule,
  projectOf,
  projectRoot,
  type RulePattern,
  readOnlyKinds,
  type SessionState,
  type ToolKind,
} from '@parley/protocol'
import { type Asked, covers, patternFor, touches } from './rule-pattern.ts'

/** The part of a request that rules are compared with. */
export type Subject = {
  readonly tool: string
  readonly kind: ToolKind
  readonly input: unknown
  readonly readOnly: boolean
  readonly outside?: boolean | undefined
  /** True if the call changes a protected file. Of the modes, only bypass allows that. */
  readonly protected?: boolean | undefined
  /** True if the agent asks although its own mode accepts edits. */
  readonly insisted?: boolean
  /** Set for a call of a host tool. The host declares whether the tool is safe. */
  readonly host?: { readonly safe: boolean }
}

export type Verdict =
  | {
      readonly decision: 'allow' | 'deny'
      readonly by: 'rule' | 'mode'
      readonly ruleId?: string
      readonly message?: string
    }
  | { readonly decision: 'ask' }

/**
 * The decision of the rules and the mode. Pure. The order of the checks is: the session's tool list, which fails
 * closed; rules that refuse; safe host tools; the refusals of the read-only mode; other rules, the narrower scope
 * before the wider; the mode; a person.
 */
export function evaluate(subject: Subject, state: SessionState, rules: readonly PermissionRule[]): Verdict {
  const unlisted = notListed(subject, state)
  if (unlisted !== undefined) return { decision: 'deny', by: 'rule', message: unlisted }
  const rule = strongest(rules.filter((candidate) => applies(candidate, subject, state)))
  if (rule?.decision === 'deny' || rule?.decision === 'disable') {
    return { decision: 'deny', by: 'rule', ruleId: rule.ruleId, message: refusalText(rule, subject) }
  }
  if (subject.host?.safe) {
    return { decision: 'allow', by: 'rule', message: `The host marks ${subject.tool} as safe.` }
  }
  const mode = modeInForce(state)
  if (mode === 'read-only' && !isReadOnly(subject) && subject.kind !== 'subagent') {
    return { decision: 'deny', by: 'mode', message: 'This session is read-only.' }
  }
  if (rule?.decision === 'allow') return { decision: 'allow', by: 'rule', ruleId: rule.ruleId }
  if (rule?.decision === 'ask') return { decision: 'ask' }
  return byMode(mode, subject)
}

function refusalText({ match = {} }: RulePattern, { tool }: Asked): string {
  const where = Object.entries(match).map(([field, text]) => `${field} is ${text}`)
  return `A rule refuses ${tool}${where.length > 0 ? ` where ${where.join(' and ')}` : ''}.`
}

function isRefusal({ decision }: PermissionRule): boolean {
  return decision === 'deny' || decision === 'disable'
}

function notListed({ tool, host }: Subject, state: SessionState): string | undefined {
  const { tools, hostToolsOnly } = state.requested.options ?? {}
  if (hostToolsOnly && !host) return `This session may use only host tools; ${tool} is not one.`
  return tools && !tools.includes(tool) ? `${tool} is not in this session's list of tools.` : undefined
}

/**
 * The decision of the mode. Bypass allows everything. No other mode decides a call that the agent insists on, that
 * names files outside the folders, or that changes a protected file.
 */
function byMode(mode: PermissionMode, subject: Subject): Verdict {
  const allowed: Verdict = { decision: 'allow', by: 'mode' }
  if (mode === 'bypass') return allowed
  if (subject.insisted || subject.outside || subject.protected) return { decision: 'ask' }
  if (mode === 'read-only') return allowed
  return mode === 'accept-edits' && subject.kind === 'edit' ? allowed : { decision: 'ask' }
}

function isReadOnly(subject: Subject): boolean {
  return subject.readOnly && (readOnlyKinds.has(subject.kind) || subject.kind === 'fetch')
}

const strictest: readonly PermissionMode[] = ['read-only', 'plan', 'ask', 'accept-edits', 'bypass']

/**
 * The mode that applies now. A wider mode applies only once the agent has confirmed it; a stricter mode applies as soon
 * as it is requested.
 */
export function modeInForce(state: SessionState): PermissionMode {
  const requested = state.requested.mode ?? 'ask'
  const effective = state.effective.mode ?? 'ask'
  return strictest.indexOf(requested) < strictest.indexOf(effective) ? requested : effective
}

const scopes = ['session', 'project', 'always'] as const

function strongest(rules: readonly PermissionRule[]): PermissionRule | undefined {
  const refusal = rules.find(isRefusal)
  if (refusal) return refusal
  const rank = ({ scope, decision }: PermissionRule) =>
    scopes.indexOf(scope) * 2 + (decision === 'ask' ? 0 : 1)
  return rules.toSorted((a, b) => rank(a) - rank(b))[0]
}

function applies(rule: PermissionRule, subject: Subject, state: SessionState): boolean {
  if (rule.scope === 'session' && rule.sessionId !== state.id) return false
  if (rule.scope === 'project' && !isOfProject(rule, state)) return false
  if (rule.agent !== undefined && rule.agent !== state.agent) return false
  return rule.decision === 'allow' ? covers(rule, subject) : touches(rule, subject)
}

/**
 * True if a rule for a project or a folder applies to a session. A rule that names a folder applies to sessions in
 * exactly this folder. If the folder is the root of a project, a rule that asks or refuses applies to the whole
 * project too, so that a refusal also covers its other worktrees.
 */
function isOfProject({ project, decision }: PermissionRule, state: SessionState): boolean {
  if (project === undefined) return false
  const own = projectOf(state)
  if (project === own || project === state.cwd) return true
  return decision !== 'allow' && projectRoot(project) === projectRoot(own)
}

/**
 * The answers a person can give, each with the rule that a lasting answer would store. The console and the terminal
 * number them in this order. A suggestion of the agent that covers this call replaces ours for the same
 * scope.
 */
export function optionsFor(
  subject: Subject,
  suggestions: readonly PermissionOption[] = [],
): PermissionOption[] {
  const once: PermissionOption[] = [
    { decision: 'allow', scope: 'once', label: 'Allow once' },
    { decision: 'deny', scope: 'once', label: 'Deny' },
  ]
  const rule = patternFor(subject)
  if (!rule) return once
  const what = grantText(rule, subject)
  const lasting: PermissionOption[] = [
    { decision: 'allow', scope: 'session', label: `Allow ${what} for this session`, rule },
    { decision: 'allow', scope: 'project', label: `Allow ${what} in this project`, rule },
    { decision: 'allow', scope: 'always', label: `Always allow ${what}`, rule },
  ]
  const suggested = suggestions.filter((option) => option.rule && covers(option.rule, subject))
  const own = lasting.filter(({ scope }) => !suggested.some((option) => option.scope === scope))
  return [...once, ...suggested, ...own].toSorted((a, b) => place(a) - place(b))
}

const order = ['allow once', 'allow session', 'deny once', 'allow project', 'allow always']
const place = ({ decision, scope }: PermissionOption) => order.indexOf(`${decision} ${scope}`)

/** The part of a label that says which calls a lasting answer covers. */
function grantText({ match, any = [], outside }: RulePattern, { tool, kind }: Subject): string {
  if (match) return 'this command'
  if (outside) return `exactly this call of ${tool}, outside the folder,`
  if (kind === 'subagent') return `subagents of this kind (${tool})`
  if (any.length === 0 || kind === 'fetch') return `exactly this call of ${tool}`
  return `${tool} on files inside the session's folders`
}
