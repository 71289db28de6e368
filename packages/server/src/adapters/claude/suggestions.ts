import type { PermissionUpdate } from '@anthropic-ai/claude-agent-sdk'
import type { PermissionOption, PermissionScope } from '@parley/protocol'

const scopes: Readonly<Record<PermissionUpdate['destination'], PermissionScope | undefined>> = {
  session: 'session',
  localSettings: 'project',
  projectSettings: 'project',
  userSettings: 'always',
  cliArg: undefined,
}
const shellSyntax = /[;&|`$<>\n\r()'"\\]/
const where = { session: 'for this session', project: 'in this folder', always: 'always' } as const

/**
 * The wider grants to offer with a permission: those that the agent itself suggests, as far as our rules can express
 * them; otherwise, for a command, the same program with other arguments.
 */
export function suggestedGrants(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  native: readonly PermissionUpdate[] | undefined,
): PermissionOption[] {
  if (tool !== 'Bash' || typeof input.command !== 'string' || shellSyntax.test(input.command)) return []
  const suggested = (native ?? []).flatMap((update) => fromNative(update, tool))
  if (suggested.length > 0) return onePerScope(suggested)
  const prefix = prefixOf(input.command)
  return prefix === undefined ? [] : [option('project', prefix)]
}

function fromNative(update: PermissionUpdate, tool: string): PermissionOption[] {
  const scope = scopes[update.destination]
  if (update.type !== 'addRules' || update.behavior !== 'allow' || !scope || scope === 'once') return []
  return update.rules.flatMap(({ toolName, ruleContent }) => {
    const prefix = /^([^*:]+?)(?: |:)\*$/.exec(ruleContent ?? '')?.[1]
    return toolName === tool && prefix !== undefined ? [option(scope, prefix)] : []
  })
}

/** An answer names only a scope, so each scope may have one option. */
function onePerScope(options: readonly PermissionOption[]): PermissionOption[] {
  return options.filter((one, index) => options.findIndex(({ scope }) => scope === one.scope) === index)
}

/** Program and subcommand, if more arguments follow: `npm run`, `git commit`. */
function prefixOf(command: string): string | undefined {
  const [program, subcommand, ...rest] = command.trim().split(/\s+/)
  const named = subcommand !== undefined && /^[a-z][\w-]*$/.test(subcommand) && rest.length > 0
  return named && program !== undefined ? `${program} ${subcommand}` : undefined
}

function option(scope: Exclude<PermissionScope, 'once'>, prefix: string): PermissionOption {
  return {
    decision: 'allow',
    scope,
    label: `Allow "${prefix} …" ${where[scope]}`,
    rule: { tool: 'Bash', match: { command: `${prefix} *` } },
  }
}
