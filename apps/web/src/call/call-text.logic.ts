import {
  type BlockOf,
  commandOf,
  type Diff,
  editedCommand,
  requestedDiffs,
  type ToolContent,
  type ToolKind,
} from '@parley/protocol'

const kindNames: Record<ToolKind, string> = {
  read: 'Read',
  edit: 'Edit',
  delete: 'Delete',
  move: 'Move',
  search: 'Search',
  execute: 'Run',
  fetch: 'Fetch',
  think: 'Think',
  plan: 'Plan',
  subagent: 'Subagent',
  other: 'Tool',
}

const verb =
  /^(Add|Approve|Change|Delete|Edit|Fetch|Find|List|Look|Make|Move|Propose|Read|Search|Update|Write|Writing) (.+)$/s
/**
 * The kinds whose titles are a command or the agent's own text. The titles of other kinds begin with one of the verbs
 * above.
 */
const untitled: readonly ToolKind[] = ['execute', 'subagent', 'other']

/** A call as a verb and its object, e.g. "Read" and "src/app.js". */
export function callLabel({ kind, name, title }: Pick<BlockOf<'tool-call'>, 'kind' | 'name' | 'title'>): {
  readonly verb: string
  readonly about: string
} {
  const [, first, about] = (!untitled.includes(kind) && verb.exec(title)) || []
  if (first !== undefined && about !== undefined) return { verb: first, about }
  if (kind !== 'other') return { verb: kindNames[kind], about: title }
  const isNamed = title === name || name === '' || name.startsWith('mcp__')
  return { verb: isNamed ? 'Tool' : name, about: title }
}

function fieldOf(input: unknown, field: string): unknown {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[field] : undefined
}

/** A call with the input that it ran with, which a person may have edited. */
export function withEditedInput(
  call: BlockOf<'tool-call'>,
  request: BlockOf<'permission' | 'question'> | undefined,
) {
  const edited = request?.type === 'permission' ? request.resolution?.input : undefined
  return edited === undefined ? call : { ...call, input: edited }
}

/** The edited command that ran instead of the requested command; undefined if nobody edited the command. */
export function commandRun(request: BlockOf<'permission' | 'question'> | undefined): string | undefined {
  return request?.type === 'permission'
    ? editedCommand(request.request.input, request.resolution?.input)
    : undefined
}

/** The length up to which a title is expected to fit on one line of a phone. */
const longTitle = 30

/**
 * The part of a call's input that is shown when the call is expanded. Undefined if the title or the result
 * shows everything.
 */
export function inputOf(
  { kind, input, title, content }: Pick<BlockOf<'tool-call'>, 'kind' | 'input' | 'title' | 'content'>,
  diffs: readonly Diff[] = [],
): { readonly type: 'command' | 'plan'; readonly text: string } | { readonly type: 'json' } | undefined {
  const command = commandOf(input)
  if (command !== undefined && kind === 'execute') {
    const isAllSaid = command === title && command.length <= longTitle && !command.includes('\n')
    return isAllSaid ? undefined : { type: 'command', text: command }
  }
  if (kind === 'plan') {
    const text = planOf(input)
    return text === undefined ? undefined : { type: 'plan', text }
  }
  if (diffs.length > 0 || content.some((part) => part.type === 'diff')) return undefined
  return kind === 'read' || isEmpty(input) ? undefined : { type: 'json' }
}

/**
 * The requested changes of a call whose result shows none. Empty if a person edited the input, because the call then
 * made other changes.
 */
export function wantedDiffs(
  { content }: Pick<BlockOf<'tool-call'>, 'content'>,
  request: BlockOf<'permission' | 'question'> | undefined,
): readonly Diff[] {
  if (request?.type !== 'permission' || request.resolution?.input !== undefined) return []
  return content.some((part) => part.type === 'diff') ? [] : requestedDiffs(request.request)
}

export function isEmpty(input: unknown): boolean {
  return (
    input === undefined || input === null || (typeof input === 'object' && Object.keys(input).length === 0)
  )
}

/** The plan of a call of the kind plan, as Markdown. */
export function planOf(input: unknown): string | undefined {
  const plan = fieldOf(input, 'plan')
  return typeof plan === 'string' ? plan : undefined
}

/** JSON with indentation, except for deeply nested values, which would be mostly spaces. */
export function asJson(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? ''
    return depthOf(text) > maxIndentedDepth ? text : (JSON.stringify(value, null, 2) ?? text)
  } catch {
    return '(cannot be shown)'
  }
}

const maxIndentedDepth = 40

function depthOf(json: string): number {
  let maxDepth = 0
  let depth = 0
  for (const bracket of json.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/[[\]{}]/g) ?? []) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1
    maxDepth = Math.max(maxDepth, depth)
  }
  return maxDepth
}

export function exitCodeOf(content: readonly ToolContent[]): number | undefined {
  for (const part of content)
    if (part.type === 'terminal' && typeof part.exitCode === 'number') return part.exitCode
  return undefined
}

export function firstLine(content: readonly ToolContent[]): string {
  for (const part of content) {
    const text = part.type === 'text' ? part.text : part.type === 'terminal' ? part.output : ''
    const line = text.trim().split('\n', 1)[0]
    if (line) return line.slice(0, 200)
  }
  return ''
}

const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'])

type Encoded = { readonly mimeType: string; readonly data: string }

/** The data address of an agent's picture. Undefined for types that can contain scripts, and for invalid base64. */
export function pictureAddress({ mimeType, data }: Encoded): string | undefined {
  const type = mimeType.toLowerCase()
  const isValid = pictures.has(type) && /^[A-Za-z0-9+/=\s]*$/.test(data)
  return isValid ? `data:${type};base64,${data}` : undefined
}
