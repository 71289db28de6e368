import { resolve } from 'node:path'
import {
  isAtSeveralPlaces,
  ParleyError,
  type PermissionRule,
  projectRoot,
  RuleDecision,
} from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printResult } from '../terminal/output.ts'
import { printList, tableLines } from '../terminal/table.ts'

export type RulesOptions = Flags & { readonly json?: boolean }
export type AddRuleOptions = RulesOptions & {
  readonly match?: readonly string[]
  readonly folder?: string
  readonly agent?: string
}

const columns = [
  { name: 'ID' },
  { name: 'DECISION' },
  { name: 'TOOL' },
  { name: 'INPUT', shrinks: true },
  { name: 'SCOPE', shrinks: true },
  { name: 'AGENT' },
  { name: 'AGE' },
]

export async function listRules(options: RulesOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { rules } = await server.client.call('listRules')
  const empty = `There are no rules. Add one: ${commandLine('rules add deny Bash --match "command=rm *"')}`
  const several = isAtSeveralPlaces(rules)
  printList(rules, { columns, row: (rule) => rowOf(rule, several), empty }, { json: options.json, output })
  return 0
}

/** Adds a standing rule for every session, or for the sessions of one folder. */
export async function addRule(
  given: string,
  tool: string,
  options: AddRuleOptions,
  context: Context,
): Promise<number> {
  const decision = RuleDecision.safeParse(given)
  if (!decision.success) {
    const known = RuleDecision.options.join(', ')
    throw new ParleyError('validation_error', `The decision of a rule is one of ${known}, not "${given}".`)
  }
  const match = matchOf(options.match)
  const { folder, agent } = options
  const scope =
    folder === undefined
      ? ({ scope: 'always' } as const)
      : ({ scope: 'project', project: resolve(context.cwd, folder) } as const)
  await using server = await connect(configurationOf(context, options), context)
  const body = { tool, decision: decision.data, ...scope, ...(match && { match }), ...(agent && { agent }) }
  const rule = await server.client.call('createRule', { body })
  const remove = context.commandLine(`rules remove ${rule.ruleId}`)
  const lines = ['Added:', ...tableLines(columns, [rowOf(rule)]), `To remove it: ${remove}`]
  return printResult(context.output, options.json, { value: rule, text: lines.join('\n') })
}

export async function removeRule(
  reference: string,
  options: RulesOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { rules } = await server.client.call('listRules')
  const found = rules.filter(({ ruleId }) => ruleId === reference)
  const meant = found.length > 0 ? found : rules.filter(({ ruleId }) => ruleId.startsWith(reference))
  const [rule] = meant
  if (!rule || meant.length > 1) {
    const list = context.commandLine('rules')
    const problem = rule
      ? `${meant.length} rules have an id that begins with ${reference}`
      : `There is no rule ${reference}`
    throw new ParleyError(rule ? 'conflict' : 'not_found', `${problem}. List them: ${list}`)
  }
  await server.client.call('deleteRule', { params: { id: rule.ruleId } })
  return printResult(context.output, options.json, { value: rule, text: `Removed ${rule.ruleId}.` })
}

function rowOf(rule: PermissionRule, showsPlace = false): string[] {
  const { ruleId, decision, tool, scope, project = '', place, sessionId, agent = 'all', createdAt } = rule
  const root = projectRoot(project)
  const folder = showsPlace && place ? `${root} (${place})` : root
  const where = scope === 'always' ? 'everywhere' : scope === 'project' ? folder : (sessionId ?? '')
  return [ruleId, decision, tool, inputText(rule), where, agent, ageText(Date.now() - createdAt)]
}

function inputText({ match = {}, exact = {}, any = [] }: PermissionRule): string {
  const parts = [
    ...Object.entries(match).map(([field, pattern]) => `${field}=${pattern}`),
    ...Object.entries(exact).map(([field, value]) => `${field}=${JSON.stringify(value)}`),
    ...any.map((field) => `${field}=*`),
  ]
  return parts.join(' ') || 'any'
}

function matchOf(given: readonly string[] | undefined): Record<string, string> | undefined {
  if (!given) return undefined
  const pairs = given.map((pair): [string, string] => {
    const index = pair.indexOf('=')
    if (index > 0) return [pair.slice(0, index), pair.slice(index + 1)]
    throw new ParleyError('validation_error', `--match takes <field>=<pattern>, not "${pair}".`)
  })
  return Object.fromEntries(pairs)
}
