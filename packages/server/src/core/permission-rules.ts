import {
  fitsGlob,
  type PermissionMode,
  type PermissionOption,
  type PermissionRule,
  type RulePattern,
  readOnlyKinds,
  type SessionState,
  type ToolKind,
} from '@parley/protocol'

/** What is asked for, as far as rules look at it. */
export type Subject = {
  readonly tool: string
  readonly kind: ToolKind
  readonly input: unknown
  readonly readOnly: boolean
  readonly outside?: boolean
  /** It is a host tool, and the host says whether it is safe. */
  readonly host?: { readonly safe: boolean }
}

/** What a pattern looks at. */
type Asked = Pick<Subject, 'tool' | 'input'>

export type Verdict =
  | {
      readonly decision: 'allow' | 'deny'
      readonly by: 'rule' | 'mode'
      readonly ruleId?: string
      readonly message?: string
    }
  | { readonly decision: 'ask' }

/**
 * Decides what a rule or a mode can decide. Pure. The order: the session's tool list, which fails closed; rules that
 * refuse; safe host tools; other rules, the narrower scope before the wider; the mode; a person.
 */
export function evaluate(subject: Subject, state: SessionState, rules: readonly PermissionRule[]): Verdict {
  const unlisted = notListed(subject, state)
  if (unlisted !== undefined) return { decision: 'deny', by: 'rule', message: unlisted }
  const rule = strongest(rules.filter((candidate) => applies(candidate, subject, state)))
  if (rule?.decision === 'deny' || rule?.decision === 'disable') {
    return { decision: 'deny', by: 'rule', ruleId: rule.ruleId, message: refusalWords(rule, subject) }
  }
  if (subject.host?.safe) {
    return { decision: 'allow', by: 'rule', message: `The host says that ${subject.tool} is safe.` }
  }
  const mode = modeInForce(state)
  if (mode === 'read-only' && !isReadOnly(subject) && subject.kind !== 'subagent') {
    return { decision: 'deny', by: 'mode', message: 'This session is read-only.' }
  }
  if (rule?.decision === 'allow') return { decision: 'allow', by: 'rule', ruleId: rule.ruleId }
  if (rule?.decision === 'ask') return { decision: 'ask' }
  return byMode(mode, subject)
}

/** The rule that refuses this, whatever a person says of it now: what is forbidden stays so until the rule is revoked. */
export function refusalFor(
  asked: Asked,
  state: SessionState,
  rules: readonly PermissionRule[],
): PermissionRule | undefined {
  return rules.find((rule) => isRefusal(rule) && applies(rule, asked, state))
}

export function refusalWords({ match = {} }: RulePattern, { tool }: Asked): string {
  const where = Object.entries(match).map(([field, text]) => `${field} is ${text}`)
  return `A rule refuses ${tool}${where.length > 0 ? ` where ${where.join(' and ')}` : ''}.`
}

function isRefusal({ decision }: PermissionRule): boolean {
  return decision === 'deny' || decision === 'disable'
}

function notListed({ tool, host }: Subject, state: SessionState): string | undefined {
  const { tools, hostToolsOnly } = state.requested.options ?? {}
  if (hostToolsOnly && !host) return `This session may use only host tools, and ${tool} is none.`
  return tools && !tools.includes(tool) ? `${tool} is not in this session's list of tools.` : undefined
}

function byMode(mode: PermissionMode, subject: Subject): Verdict {
  if (mode === 'bypass') return { decision: 'allow', by: 'mode' }
  if (mode === 'read-only') return { decision: 'allow', by: 'mode' }
  if (mode === 'accept-edits' && subject.kind === 'edit' && !subject.outside)
    return { decision: 'allow', by: 'mode' }
  return { decision: 'ask' }
}

function isReadOnly(subject: Subject): boolean {
  return subject.readOnly && (readOnlyKinds.has(subject.kind) || subject.kind === 'fetch')
}

const strictest: readonly PermissionMode[] = ['read-only', 'plan', 'ask', 'accept-edits', 'bypass']

/** A wider mode holds only once the agent has confirmed it; a stricter one holds from the moment it is asked for. */
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

function applies(rule: PermissionRule, subject: Asked, state: SessionState): boolean {
  if (rule.scope === 'session' && rule.sessionId !== state.id) return false
  if (rule.scope === 'project' && rule.project !== state.cwd) return false
  if (rule.agent !== undefined && rule.agent !== state.agent) return false
  return rule.decision === 'allow' ? matches(rule, subject) : touches(rule, subject)
}

/**
 * A pattern that looks at the input covers no switch it does not name: the same command with an extra `true`, such as
 * one that leaves the sandbox, is another thing.
 */
export function matches(pattern: RulePattern, subject: Asked): boolean {
  if (pattern.tool !== '*' && pattern.tool !== subject.tool) return false
  const { match } = pattern
  if (!match) return true
  const named = Object.entries(match).every(([field, text]) => {
    const value = fieldOf(subject.input, field)
    return (
      (typeof value === 'string' || value === true) && fitsGlob(text, String(value), { barred: shellSyntax })
    )
  })
  return named && switchesOf(subject.input).every((field) => Object.hasOwn(match, field))
}

function fieldOf(input: unknown, field: string): unknown {
  return input !== null && typeof input === 'object' ? (input as Record<string, unknown>)[field] : undefined
}

/** The same for what restricts: `*` stands for anything, and an extra switch does not slip through. */
function touches(pattern: RulePattern, subject: Asked): boolean {
  if (pattern.tool !== '*' && pattern.tool !== subject.tool) return false
  return Object.entries(pattern.match ?? {}).every(([field, text]) => {
    const value = fieldOf(subject.input, field)
    const words = typeof value === 'string' ? value : JSON.stringify(value)
    return words !== undefined && fitsGlob(text, words)
  })
}

function switchesOf(input: unknown): string[] {
  if (input === null || typeof input !== 'object') return []
  return Object.entries(input).flatMap(([field, value]) => (value === true ? [field] : []))
}

/** A shell's control characters: a `*` in a grant never stands for one. */
const shellSyntax = /[;&|`$<>\n\r()]/

/**
 * The answers a person can give, each with the rule that a lasting one would write. Where the agent suggests one for a
 * scope, it stands in for ours.
 */
export function optionsFor(
  subject: Subject,
  suggestions: readonly PermissionOption[] = [],
): PermissionOption[] {
  const once: PermissionOption[] = [
    { decision: 'allow', scope: 'once', label: 'Allow once' },
    { decision: 'deny', scope: 'once', label: 'Deny' },
  ]
  if (subject.kind === 'plan') return once
  const rule = patternFor(subject)
  if (!rule) return once
  const what = rule.match?.command === undefined ? subject.tool : 'this command'
  const lasting: PermissionOption[] = [
    { decision: 'allow', scope: 'session', label: `Allow ${what} for this session`, rule },
    { decision: 'allow', scope: 'project', label: `Allow ${what} in this folder`, rule },
    { decision: 'allow', scope: 'always', label: `Always allow ${what}`, rule },
  ]
  const own = lasting.filter(({ scope }) => !suggestions.some((suggestion) => suggestion.scope === scope))
  return [once[0]!, ...suggestions, ...own, once[1]!]
}

/** Narrow: a command is granted as it stands, any other tool by its name. What cannot be told apart is not granted. */
function patternFor(subject: Subject): RulePattern | undefined {
  if (subject.tool === '*') return undefined
  const command = subject.kind === 'execute' ? fieldOf(subject.input, 'command') : undefined
  if (typeof command === 'string') {
    const switches = Object.fromEntries(switchesOf(subject.input).map((field) => [field, 'true']))
    return { tool: subject.tool, match: { command: escaped(command), ...switches } }
  }
  return subject.kind === 'execute' ? undefined : { tool: subject.tool }
}

function escaped(text: string): string {
  return text.replace(/[\\*]/g, '\\$&')
}
