import type { CanUseTool, PermissionResult, PermissionUpdate } from '@anthropic-ai/claude-agent-sdk'
import type { PermissionAsk } from '@parley/adapter-kit'
import type { Reach } from '@parley/adapter-kit/inside-folder'
import type { Diff, PermissionMode, PermissionOption, PermissionScope, ToolKind } from '@parley/protocol'
import type { ToolDescription } from './describe-call.ts'
import type { QuestionContext } from './question.ts'
import { nativeModes } from './settings.ts'

export type PermissionContext = QuestionContext & {
  /** Describes a call by Claude's name for the tool. */
  describe(name: string, input: unknown): ToolDescription & { readonly name: string }
  /** Reports whether a call names a file outside the session's folders, and whether it changes a protected file. */
  reach(kind: ToolKind, input: unknown): Reach
  /** True if Claude Code, in its current mode, asks about this kind of call only for a special reason. */
  insists(kind: ToolKind): boolean
  /** The diffs of the change that a call would make. */
  diffs(name: string, input: Readonly<Record<string, unknown>>): Promise<{ diffs?: Diff[] }>
  /** Called when the plan was approved. Returns the mode of the session from now on. */
  leavePlan(): PermissionMode
}

export type Asked = Pick<
  Parameters<CanUseTool>[2],
  'toolUseID' | 'suggestions' | 'title' | 'decisionReason' | 'signal'
> & {
  /** Sent, but undeclared in the SDK: `safetyCheck` means that Claude Code considers the file sensitive. */
  readonly decisionReasonType?: string
  /** True if Claude Code itself asks, not our hook. */
  readonly isOwn?: boolean
}

export const dismissal: PermissionResult = { behavior: 'deny', message: 'Cancelled.', interrupt: true }

/** Asks about a call that the host has recorded as `toolCallId`. */
export async function permitCall(
  context: PermissionContext,
  { name, input, toolCallId }: { name: string; input: Record<string, unknown>; toolCallId: string },
  asked: Asked,
): Promise<PermissionResult> {
  const place = { toolCallId, ...context.parentOf(toolCallId) }
  const described = context.describe(name, input)
  const ask: PermissionAsk = {
    ...permissionAsk(described, input, asked, place),
    ...context.reach(described.kind, input),
    ...(asked.isOwn && context.insists(described.kind) && { insisted: true }),
    ...(asked.decisionReasonType === 'safetyCheck' && { protected: true }),
    ...(await context.diffs(name, input)),
  }
  const answer = await context.person.permit(ask, context.withdrawn(asked.signal))
  if (answer.outcome === 'allowed') {
    const updatedInput = (answer.input ?? input) as Record<string, unknown>
    if (name !== 'ExitPlanMode') return { behavior: 'allow', updatedInput }
    const mode = nativeModes[context.leavePlan()]
    return {
      behavior: 'allow',
      updatedInput,
      updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }],
    }
  }
  context.denied(toolCallId)
  if (answer.outcome === 'cancelled') return dismissal
  const message = answer.message ?? 'The person denied this.'
  return { behavior: 'deny', message, ...(answer.endTurn && { interrupt: true }) }
}

function permissionAsk(
  { name, kind, title }: ReturnType<PermissionContext['describe']>,
  input: Record<string, unknown>,
  asked: Asked,
  place: Pick<PermissionAsk, 'toolCallId' | 'parentToolCallId'>,
): PermissionAsk {
  const suggestions = suggestedGrants(name, input, asked.suggestions)
  return {
    ...place,
    tool: name,
    kind,
    title: asked.title ?? title,
    input,
    ...(asked.decisionReason !== undefined && { reason: asked.decisionReason }),
    ...(suggestions.length > 0 && { suggestions }),
  }
}

const scopes: Readonly<Record<PermissionUpdate['destination'], PermissionScope | undefined>> = {
  session: 'session',
  localSettings: 'project',
  projectSettings: 'project',
  userSettings: 'always',
  cliArg: undefined,
}
const shellSyntax = /[;&|`$<>\n\r()'"\\]/
const where = { session: 'for this session', project: 'in this project', always: 'always' } as const

/**
 * The wider grants to offer with a permission: those that the agent itself suggests, if our rules can express them;
 * otherwise, for a command, a grant for the same program with other arguments.
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

/** Keeps the first option of each scope, because an answer names only a scope. */
function onePerScope(options: readonly PermissionOption[]): PermissionOption[] {
  return options.filter((one, index) => options.findIndex(({ scope }) => scope === one.scope) === index)
}

/**
 * The program and subcommand of a command, such as `npm run` or `git commit`; undefined if there is no subcommand, or
 * if no argument follows it.
 */
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
