import type { BlockOf, ToolContent, ToolKind } from '@parley/protocol'

/** What a call is, in a word: its icon and its colour follow from the kind. */
export const kindNames: Record<ToolKind, string> = {
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

export function callName(call: Pick<BlockOf<'tool-call'>, 'kind' | 'name'>): string {
  return call.kind === 'other' ? call.name || 'Tool' : kindNames[call.kind]
}

export function fieldOf(input: unknown, field: string): unknown {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[field] : undefined
}

/** The whole command of a call that runs one. */
export function commandOf(input: unknown): string | undefined {
  const command = fieldOf(input, 'command') ?? fieldOf(input, 'cmd')
  if (typeof command === 'string') return command
  return Array.isArray(command) && command.every((part) => typeof part === 'string')
    ? command.join(' ')
    : undefined
}

/** The command that a person had run in place of the agent's. */
export function commandRun(request: BlockOf<'permission' | 'question'> | undefined): string | undefined {
  if (request?.type !== 'permission') return undefined
  const ran = commandOf(request.resolution?.input)
  return ran === commandOf(request.request.input) ? undefined : ran
}

/** From here on a title on one line may not show all of a command, on a phone at least. */
const longTitle = 30

/** What an opened call shows of its input: nothing, where its title or its result says it all. */
export function inputOf({
  kind,
  input,
  title,
  content,
}: Pick<BlockOf<'tool-call'>, 'kind' | 'input' | 'title' | 'content'>):
  | { readonly type: 'command' | 'plan'; readonly text: string }
  | { readonly type: 'json' }
  | undefined {
  const command = commandOf(input)
  if (command !== undefined && kind === 'execute') {
    const isAllSaid = command === title && command.length <= longTitle && !command.includes('\n')
    return isAllSaid ? undefined : { type: 'command', text: command }
  }
  if (kind === 'plan') {
    const text = planOf(input)
    return text === undefined ? undefined : { type: 'plan', text }
  }
  if (kind === 'edit' && content.some((part) => part.type === 'diff')) return undefined
  return kind === 'read' || isEmpty(input) ? undefined : { type: 'json' }
}

function isEmpty(input: unknown): boolean {
  return (
    input === undefined || input === null || (typeof input === 'object' && Object.keys(input).length === 0)
  )
}

/** The plan that a call of kind plan carries, as Markdown. */
export function planOf(input: unknown): string | undefined {
  const plan = fieldOf(input, 'plan')
  return typeof plan === 'string' ? plan : undefined
}

/** Indented where that helps reading: indenting what is nested a thousand deep would be all spaces. */
export function asJson(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? ''
    return depthOf(text) > deepestIndented ? text : (JSON.stringify(value, null, 2) ?? text)
  } catch {
    return '(This cannot be written out.)'
  }
}

const deepestIndented = 40

function depthOf(json: string): number {
  let deepest = 0
  let depth = 0
  for (const bracket of json.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/[[\]{}]/g) ?? []) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

export function exitCodeOf(content: readonly ToolContent[]): number | undefined {
  for (const part of content)
    if (part.type === 'terminal' && typeof part.exitCode === 'number') return part.exitCode
  return undefined
}

/** The first words of a result, for the line of a call that failed. */
export function firstLine(content: readonly ToolContent[]): string {
  for (const part of content) {
    const text = part.type === 'text' ? part.text : part.type === 'terminal' ? part.output : ''
    const line = text.trim().split('\n', 1)[0]
    if (line) return line.slice(0, 200)
  }
  return ''
}

const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'])

/** The address of a picture that an agent sent, if it is of a kind that cannot do anything. */
export function pictureAddress(part: {
  readonly mimeType: string
  readonly data: string
}): string | undefined {
  const type = part.mimeType.toLowerCase()
  return pictures.has(type) && /^[A-Za-z0-9+/=\s]*$/.test(part.data)
    ? `data:${type};base64,${part.data}`
    : undefined
}
