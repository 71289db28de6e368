import type { Agent, PermissionRule } from '@opencode-ai/sdk/v2/client'
import { fitsGlob } from '@parley/protocol'

export type NativeRule = PermissionRule
export type NativeAgent = Pick<Agent, 'name' | 'mode' | 'hidden' | 'permission'>

const everything: NativeRule = { permission: '*', pattern: '*', action: 'ask' }

/**
 * OpenCode's own rules allow everything. Parley's rules make OpenCode ask for everything, so that nothing runs without
 * the host; the adapter then allows harmless calls by itself. Parley's rules are set twice:
 * - in the configuration, since the session of a subagent inherits only the refusals of its parent;
 * - on the session, where they come last and therefore apply, whatever the person's own settings allow. The person's
 *  own refusals stay in effect, and so do OpenCode's refusals for the current agent.
 */
export const baseline = { '*': 'ask' } as const

/**
 * The rules of a session. The last matching rule applies, so the order is: first the rule that asks for everything,
 * then the refusals of the agent with their exceptions, then a refusal for each tool that would run without asking.
 */
export function sessionRules(agent: NativeAgent | undefined, unasked: readonly string[] = []): NativeRule[] {
  const own = (agent?.permission ?? []).filter((rule) => !isBaseline(rule))
  const refused = new Set(own.filter(({ action }) => action === 'deny').map(({ permission }) => permission))
  const kept = own.filter(({ permission }) => refused.has('*') || refused.has(permission))
  return [
    everything,
    ...kept.map((rule) => (rule.action === 'deny' ? rule : asking(rule))),
    ...unasked.map((tool) => ({ permission: permissionOf(tool), pattern: '*', action: 'deny' as const })),
  ]
}

/** The names of OpenCode's own tools, each of which asks for permission. */
const ownTools = new Set([
  'invalid',
  'question',
  'bash',
  'read',
  'glob',
  'grep',
  'edit',
  'write',
  'apply_patch',
  'task',
  'webfetch',
  'websearch',
  'todowrite',
  'skill',
  'lsp',
  'plan_exit',
  'execute',
])

/**
 * The tools that a person or a plugin has added. They run without asking, unless they were written to ask, so they are
 * not offered to the model. If such a tool replaces one of OpenCode's own tools, OpenCode lists the name twice.
 */
export function unaskedTools(tools: readonly string[]): string[] {
  return [...new Set(tools.filter((name, index) => !ownTools.has(name) || tools.indexOf(name) < index))]
}

function permissionOf(tool: string): string {
  return tool === 'write' || tool === 'apply_patch' ? 'edit' : tool
}

/** True if `rules` already end with the rules `last`. */
export function endsWith(rules: readonly NativeRule[], last: readonly NativeRule[]): boolean {
  const textOf = (list: readonly NativeRule[]) =>
    JSON.stringify(list.map(({ permission, pattern, action }) => [permission, pattern, action]))
  return textOf(rules.slice(-last.length)) === textOf(last)
}

/** The decision that OpenCode itself would make, by the rules of the agent without ours. */
export function ownDecision(
  agent: NativeAgent | undefined,
  { permission, patterns }: { readonly permission: string; readonly patterns: readonly string[] },
): 'allow' | 'ask' | 'deny' {
  const rules = (agent?.permission ?? []).filter((rule) => !isBaseline(rule) || rule.action !== 'ask')
  const decisions = patterns.map((pattern) => evaluate(rules, permission, pattern))
  if (decisions.includes('deny')) return 'deny'
  return decisions.includes('ask') ? 'ask' : 'allow'
}

/**
 * The actions that a subagent may perform without asking, apart from harmless calls. The last matching rule applies,
 * so the subagent's own settings override ours. The host does not see such actions, so it must ask before the
 * subagent is started.
 */
export function unaskedBy(agent: NativeAgent | undefined): string[] {
  const rules = agent?.permission ?? []
  const ours = rules.findLastIndex((rule) => isBaseline(rule) && rule.action === 'ask')
  if (ours === -1) return ['*']
  const allowed = rules.slice(ours + 1).filter(({ action }) => action === 'allow')
  return allowed
    .map(({ permission }) => permission)
    .filter((permission) => permission !== 'external_directory' && !isHarmless(permission))
}

const harmless = new Set(['read', 'list', 'glob', 'grep', 'lsp', 'todowrite', 'skill', 'task', 'question'])

/**
 * True for a permission that changes nothing outside the conversation, or whose consequences are asked about
 * separately.
 */
export function isHarmless(permission: string): boolean {
  return harmless.has(permission)
}

function evaluate(rules: readonly NativeRule[], permission: string, pattern: string): NativeRule['action'] {
  const rule = rules.findLast((one) => fits(one.permission, permission) && fits(one.pattern, pattern))
  return rule?.action ?? 'ask'
}

/**
 * True if a value matches a pattern: `*` matches any text, `?` matches any character, and ` *` at the end also
 * matches an empty text.
 */
function fits(pattern: string, value: string): boolean {
  if (fitsGlob(pattern, value, { question: true })) return true
  return pattern.endsWith(' *') && fitsGlob(pattern.slice(0, -2), value, { question: true })
}

function isBaseline({ permission, pattern, action }: NativeRule): boolean {
  return permission === '*' && pattern === '*' && action !== 'deny'
}

function asking(rule: NativeRule): NativeRule {
  return { ...rule, action: 'ask' }
}
