import {
  isHarmlessField,
  type OpenRequest,
  type PermissionOption,
  type PermissionScope,
  type RulePattern,
  requestedDiffs,
} from '@parley/protocol'

export type PermissionAsk = Extract<OpenRequest, { type: 'permission' }>
export type QuestionAsk = Extract<OpenRequest, { type: 'question' }>

/** What the keys 1, 2 and 3 mean on a card: always the same, so that a hand can learn it. */
export type Choices = {
  readonly once: PermissionOption | undefined
  /** The next wider grant, if there is one. */
  readonly session: PermissionOption | undefined
  readonly deny: PermissionOption | undefined
  /** Wider grants, behind a menu: nobody should give them in passing. */
  readonly wider: readonly PermissionOption[]
}

export function choicesOf({ options }: Pick<PermissionAsk, 'options'>): Choices {
  const allow = (scope: PermissionScope) =>
    options.find((option) => option.decision === 'allow' && option.scope === scope)
  const session = allow('session')
  const once = allow('once')
  return {
    once,
    session,
    deny: options.find((option) => option.decision === 'deny'),
    wider: options.filter((option) => option !== once && option !== session && option.decision === 'allow'),
  }
}

/** What a lasting grant would cover, in words. `command` is the one that is asked for, and needs no repeating. */
export function coverOf({ rule }: PermissionOption, command?: string): string {
  if (!rule) return ''
  const { tool, match = {}, exact = {}, any = [] } = rule
  const isPinned = rule.match || rule.exact || rule.any
  const beyond = rule.outside ? ', also outside the folder' : ''
  if (!isPinned) return tool === '*' ? `all tools${beyond}` : `all uses of ${tool}${beyond}`
  const fields = fieldWords(rule)
  const others = fields.filter((words) => words !== match.command)
  const isThis = command !== undefined && literalOf(match.command) === command
  if (isThis) return `only this command${others.length > 0 ? ` with ${others.join(', ')}` : ''}`
  if (any.some((field) => field !== 'prompt')) {
    const same = Object.keys(exact).length > 0 ? ` with ${others.join(', ')}` : ''
    return `all uses of ${tool} on files in the folder${same}, except settings of git, agents, editors and shells`
  }
  return rule.match ? fields.join(', ') : `only this call${rule.outside ? ', outside the folder' : ''}`
}

/** The one text that a pattern fits; undefined where a star in it stands for anything. */
function literalOf(pattern = '*'): string | undefined {
  const parts: readonly string[] = pattern.match(/\\[\s\S]|[\s\S]/g) ?? []
  if (parts.includes('*')) return undefined
  return parts.map((part) => (part.length > 1 ? part.slice(1) : part)).join('')
}

/** The fields that a rule looks at, each with what it must be. */
export function fieldWords({ match = {}, exact = {} }: RulePattern): readonly string[] {
  return [
    ...Object.entries(match).map(([field, text]) => (field === 'command' ? text : `${field}: ${text}`)),
    ...Object.entries(exact).map(
      ([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ]
}

/** Why nothing but a person answers this. */
export function reachOf(ask: Pick<PermissionAsk, 'outside' | 'protected'>): readonly string[] {
  return [
    ...(ask.outside ? ['This reaches outside the session’s folder.'] : []),
    ...(ask.protected ? ['This changes a protected file: one that can make programs run code.'] : []),
  ]
}

const wishes = {
  read: 'wants to read a file',
  delete: 'wants to delete a file',
  move: 'wants to move a file',
  search: 'wants to search',
  execute: 'wants to run a command',
  fetch: 'wants to fetch a page',
  think: 'wants to think',
  plan: 'has a plan',
  subagent: 'wants to start a subagent',
} as const

type Wish = Pick<PermissionAsk, 'kind' | 'tool' | 'parentToolCallId' | 'diffs' | 'diff'>

/** "Demo wants to run a command": the first thing a card says. */
export function wishOf(ask: Wish, name: string): string {
  const agentName = askerOf(ask, name)
  if (ask.kind === 'edit') return `${agentName} wants to change ${filesOf(ask)}`
  if (ask.kind === 'other') return `${agentName} wants to use ${ask.tool}`
  return `${agentName} ${wishes[ask.kind]}`
}

function filesOf(ask: Wish): string {
  const { length } = requestedDiffs(ask)
  return length > 1 ? `${length} files` : 'a file'
}

/** Who asks: a subagent says so, since nobody may have heard of it yet. */
export function askerOf(
  { parentToolCallId }: Pick<OpenRequest, 'parentToolCallId'>,
  agentName: string,
): string {
  return parentToolCallId === undefined ? agentName : `A subagent of ${agentName}`
}

const longestShown = 300

/** Fields of inputs that change files which the diff says itself, by the names that agents have for them. */
const saidByDiff = new Set([
  ...['path', 'paths', 'file_path', 'filePath', 'notebook_path', 'absolute_path'],
  ...['content', 'old_string', 'new_string', 'oldString', 'newString', 'new_source', 'edits', 'changes'],
  ...['patch', 'patchText', 'diff'],
])

/** The fields of an input beside its command or its diff, as words. Long ones are cut. */
export function otherFields(
  input: unknown,
  beside: 'command' | 'diff' = 'command',
): readonly (readonly [name: string, value: string])[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return []
  return Object.entries(input).flatMap(([name, value]) => {
    if (name === 'command' || value === undefined || value === null) return []
    if (value === false && isHarmlessField(name, value)) return []
    if (beside === 'diff' && saidByDiff.has(name)) return []
    const words = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    return [[name, words.length > longestShown ? `${words.slice(0, longestShown)}…` : words] as const]
  })
}

/**
 * The fields of an input, each as a line of text, without the one that the title ends with; undefined where that does
 * not show all of it, since something is nested in it.
 */
export function plainFields(
  input: unknown,
  title: string,
): readonly (readonly [name: string, value: string])[] | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  const fields = Object.entries(input).filter(([, value]) => value !== undefined && value !== null)
  if (fields.some(([, value]) => typeof value === 'object')) return undefined
  return fields
    .map(([name, value]) => [name, String(value)] as const)
    .filter(([, value]) => value === '' || !title.endsWith(value))
}
