import {
  isHarmlessField,
  type OpenRequest,
  type PermissionOption,
  type PermissionScope,
  type RulePattern,
  requestedDiffs,
  type SessionSummary,
} from '@parley/protocol'

/** The session of a request, as its card shows it. */
export type RequestSession = Pick<SessionSummary, 'id' | 'agent' | 'cwd'>
/** The properties that the cards of permissions and questions share. */
export type CardProps = {
  session: RequestSession
  takesFocus: boolean
  /** The machine of the session, if no server runs there. */
  awaited: string | undefined
}
export type OpenPermission = Extract<OpenRequest, { type: 'permission' }>
export type OpenQuestion = Extract<OpenRequest, { type: 'question' }>

/** The answers behind the keys 1, 2 and 3 of a card. They are the same on every card, so that people can learn them. */
export type Choices = {
  readonly once: PermissionOption | undefined
  /** The next wider grant, if there is one. */
  readonly session: PermissionOption | undefined
  readonly deny: PermissionOption | undefined
  /** All other grants, which are wider. They are in a menu, so that they are not given by accident. */
  readonly wider: readonly PermissionOption[]
}

/** `mayWiden`: whether the person may give grants that apply beyond the session. */
export function choicesOf({ options }: Pick<OpenPermission, 'options'>, mayWiden = true): Choices {
  const allow = (scope: PermissionScope) =>
    options.find((option) => option.decision === 'allow' && option.scope === scope)
  const session = allow('session')
  const once = allow('once')
  return {
    once,
    session,
    deny: options.find((option) => option.decision === 'deny'),
    wider: options.filter(
      (option) =>
        option !== once &&
        option !== session &&
        option.decision === 'allow' &&
        (mayWiden || (option.scope !== 'project' && option.scope !== 'always')),
    ),
  }
}

/** The calls that a lasting grant covers, as text. `command` is the requested command, which is not repeated. */
export function grantCoverage({ rule }: PermissionOption, command?: string): string {
  if (!rule) return ''
  const { tool, match = {}, exact = {}, any = [] } = rule
  const isPinned = rule.match || rule.exact || rule.any
  const beyond = rule.outside ? ', also outside the folder' : ''
  if (!isPinned) return tool === '*' ? `all tools${beyond}` : `all uses of ${tool}${beyond}`
  const fields = fieldTexts(rule)
  const others = fields.filter((text) => text !== match.command)
  const isThis = command !== undefined && literalOf(match.command) === command
  if (isThis) return `only this command${others.length > 0 ? ` with ${others.join(', ')}` : ''}`
  if (any.some((field) => field !== 'prompt')) {
    const same = Object.keys(exact).length > 0 ? ` with ${others.join(', ')}` : ''
    return `all uses of ${tool} on files in the folder${same}, except settings of git, agents, editors and shells`
  }
  return rule.match ? fields.join(', ') : `only this call${rule.outside ? ', outside the folder' : ''}`
}

/** The only text that a pattern matches; undefined if the pattern contains a wildcard. */
function literalOf(pattern = '*'): string | undefined {
  const parts: readonly string[] = pattern.match(/\\[\s\S]|[\s\S]/g) ?? []
  if (parts.includes('*')) return undefined
  return parts.map((part) => (part.length > 1 ? part.slice(1) : part)).join('')
}

/** The input fields that a rule checks, each with its required value. */
function fieldTexts({ match = {}, exact = {} }: RulePattern): readonly string[] {
  return [
    ...Object.entries(match).map(([field, text]) => (field === 'command' ? text : `${field}: ${text}`)),
    ...Object.entries(exact).map(
      ([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ]
}

/** Warnings about a call outside the session's folders or on a protected file. */
export function reachWarnings(request: Pick<OpenPermission, 'outside' | 'protected'>): readonly string[] {
  return [
    ...(request.outside ? ['This uses files outside the session’s folder.'] : []),
    ...(request.protected ? ['This changes a protected file: one that can make programs run code.'] : []),
  ]
}

const requestPhrases = {
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

type Titled = Pick<OpenPermission, 'kind' | 'tool' | 'parentToolCallId' | 'diffs' | 'diff'>

/** The first line of a card, e.g. "Demo wants to run a command". */
export function requestTitle(request: Titled, name: string): string {
  const agentName = requesterName(request, name)
  if (request.kind === 'edit') return `${agentName} wants to change ${filesOf(request)}`
  if (request.kind === 'other') return `${agentName} wants to use ${request.tool}`
  return `${agentName} ${requestPhrases[request.kind]}`
}

function filesOf(request: Titled): string {
  const { length } = requestedDiffs(request)
  return length > 1 ? `${length} files` : 'a file'
}

/** The name of the agent or subagent that asks. */
export function requesterName(
  { parentToolCallId }: Pick<OpenRequest, 'parentToolCallId'>,
  agentName: string,
): string {
  return parentToolCallId === undefined ? agentName : `A subagent of ${agentName}`
}

const maxValueLength = 300

/** Input fields that the diff shows already, by the names that agents use. */
const shownByDiff = new Set([
  ...['path', 'paths', 'file_path', 'filePath', 'notebook_path', 'absolute_path'],
  ...['content', 'old_string', 'new_string', 'oldString', 'newString', 'new_source', 'edits', 'changes'],
  ...['patch', 'patchText', 'diff'],
])

/** The input fields that the shown command or diff does not contain, as text. Long values are cut. */
export function otherFields(
  input: unknown,
  beside: 'command' | 'diff' = 'command',
): readonly (readonly [name: string, value: string])[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return []
  return Object.entries(input).flatMap(([name, value]) => {
    if (name === 'command' || value === undefined || value === null) return []
    if (value === false && isHarmlessField(name, value)) return []
    if (beside === 'diff' && shownByDiff.has(name)) return []
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    return [[name, text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text] as const]
  })
}

/**
 * The fields of an input, each as a line of text, without the field whose value is at the end of the title.
 * Undefined if the input is nested, since lines would not show all of it.
 */
export function plainFields(
  input: unknown,
  title: string,
): readonly (readonly [name: string, value: string])[] | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  const fields = Object.entries(input).filter(([, value]) => value !== undefined && value !== null)
  if (fields.some(([, value]) => typeof value === 'object')) return undefined
  const texts = fields.map(([name, value]) => [name, String(value)] as const)
  const inTitle = texts.find(
    ([name, value]) => titleFields.has(name) && value !== '' && title.endsWith(value),
  )
  return texts.filter((field) => field !== inTitle)
}

/**
 * Only these fields may be left out when the title ends with their value. The agent writes the title, so all other
 * fields are always listed.
 */
const titleFields = new Set(['url', 'file_path', 'filePath', 'path', 'query', 'pattern'])
