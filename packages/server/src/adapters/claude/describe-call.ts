import {
  type CallInput,
  describeTool as describeKnown,
  firstLine,
  firstQuestion,
  locationsIn,
  shortTitle,
  type ToolTable,
  textField as text,
} from '@parley/adapter-kit/call-description'
import {
  type Replacement,
  readForDiff,
  replaceDiff,
  type Session,
  writeDiff,
} from '@parley/adapter-kit/file-diff'
import type { HostToolNames } from '@parley/adapter-kit/host-tool-server'
import { type Diff, isRecord, type ToolKind, type ToolLocation } from '@parley/protocol'

export type ToolDescription = {
  readonly kind: ToolKind
  readonly title: string
  readonly locations?: ToolLocation[]
  /** Undefined if this is unknown, as for every tool of an MCP server. */
  readonly readOnly?: boolean
}

const tools: ToolTable = {
  Bash: ['execute', (input) => firstLine(text(input, 'command')) || 'Run a command'],
  PowerShell: ['execute', (input) => firstLine(text(input, 'command')) || 'Run a command'],
  Monitor: ['execute', (input) => firstLine(text(input, 'command')) || 'Watch a command'],
  BashOutput: ['read', () => 'Read the output of a command'],
  TaskOutput: ['read', () => 'Read the output of a task'],
  KillShell: ['execute', () => 'Stop a command'],
  TaskStop: ['execute', () => 'Stop a task'],

  Read: ['read', (_, path) => `Read ${path('file_path')}`],
  NotebookRead: ['read', (_, path) => `Read ${path('notebook_path')}`],
  LSP: ['read', (_, path) => `Look up code in ${path('filePath')}`],
  ListMcpResources: ['read', () => 'List resources'],
  ReadMcpResource: ['read', (input) => `Read ${text(input, 'uri') || 'a resource'}`],
  Edit: ['edit', (_, path) => `Edit ${path('file_path')}`],
  MultiEdit: ['edit', (_, path) => `Edit ${path('file_path')}`],
  Write: ['edit', (_, path) => `Write ${path('file_path')}`],
  NotebookEdit: ['edit', (_, path) => `Edit ${path('notebook_path')}`],

  Glob: ['search', (input) => `Find ${text(input, 'pattern') || 'files'}`],
  Grep: ['search', (input) => `Search for "${text(input, 'pattern')}"`],
  ToolSearch: ['search', (input) => `Look for a tool: ${text(input, 'query')}`],
  WebFetch: ['fetch', (input) => `Fetch ${text(input, 'url') || 'a page'}`],
  WebSearch: ['fetch', (input) => `Search the web for "${text(input, 'query')}"`],
  web_fetch: ['fetch', (input) => `Fetch ${text(input, 'url') || 'a page'}`],
  web_search: ['fetch', (input) => `Search the web for "${text(input, 'query')}"`],

  Task: ['subagent', (input) => text(input, 'description') || 'Start a subagent'],
  Agent: ['subagent', (input) => text(input, 'description') || 'Start a subagent'],

  TodoWrite: ['think', () => 'Update the plan'],
  TaskCreate: ['think', (input) => `Add to the plan: ${text(input, 'subject')}`],
  TaskUpdate: ['think', () => 'Update the plan'],
  TaskGet: ['think', () => 'Look at the plan'],
  TaskList: ['think', () => 'Look at the plan'],
  EnterPlanMode: ['plan', () => 'Make a plan first'],
  ExitPlanMode: ['plan', () => 'Propose the plan'],

  AskUserQuestion: ['other', (input) => `Ask: ${firstQuestion(input) || 'a question'}`],
  Skill: ['other', (input) => `Use the skill ${text(input, 'skill') || text(input, 'command')}`],
  StructuredOutput: ['other', () => 'Give the result'],
}

const pathFields = ['file_path', 'notebook_path', 'filePath', 'path'] as const

export function describeTool(name: string, input: unknown, cwd?: string): ToolDescription {
  const fields = isRecord(input) ? input : {}
  const known = describeKnown(tools, name, fields, cwd)
  const { kind, title } = known ?? { kind: 'other', title: shortTitle(titleOfUnknown(name)) }
  const locations = locationsIn(fields, pathFields)
  return {
    kind,
    title,
    ...(locations.length > 0 && { locations }),
    ...(known && { readOnly: kind === 'read' || kind === 'search' || kind === 'think' }),
  }
}

/** Describes a call of a host tool or of another tool, with the name of the tool. */
export function describeCall(
  { hostTools, cwd }: { readonly hostTools: HostToolNames; readonly cwd: string | undefined },
  name: string,
  input: unknown,
): ToolDescription & { readonly name: string } {
  return hostTools.get(name) ?? { name, ...describeTool(name, input, cwd) }
}

function titleOfUnknown(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  return server ? `${server}: ${tool}` : name
}

/** The change that a call of one of Claude's file tools would make. */
export async function diffsOfCall(
  name: string,
  input: CallInput,
  session: Session,
): Promise<{ diffs?: Diff[] }> {
  const diff = await diffOfCall(name, input, session)
  return diff ? { diffs: [diff] } : {}
}

async function diffOfCall(name: string, input: CallInput, session: Session): Promise<Diff | undefined> {
  const path = input.file_path ?? input.notebook_path
  if (typeof path !== 'string' || path === '') return undefined
  switch (name) {
    case 'Write':
      return typeof input.content === 'string' ? writeDiff(path, input.content, session) : undefined
    case 'Edit':
    case 'MultiEdit': {
      const edits = name === 'Edit' ? [input] : Array.isArray(input.edits) ? input.edits : []
      const replacements = edits.map(replacementOf)
      return replacements.length > 0 && replacements.every((one) => one !== undefined)
        ? replaceDiff(path, replacements, session)
        : undefined
    }
    case 'NotebookEdit':
      return diffOfCell(path, input, session)
    default:
      return undefined
  }
}

function replacementOf(edit: unknown): Replacement | undefined {
  if (!isRecord(edit)) return undefined
  const { old_string: old, new_string: now, replace_all: everywhere } = edit
  if (typeof old !== 'string' || typeof now !== 'string') return undefined
  return { old, new: now, ...(everywhere === true && { everywhere }) }
}

/** The diff of one notebook cell. It compares source texts, because the JSON of a notebook is hard to read. */
async function diffOfCell(path: string, input: CallInput, session: Session): Promise<Diff | undefined> {
  const { cell_id: id, new_source: source, edit_mode: mode = 'replace' } = input
  if (typeof source !== 'string') return undefined
  const before = mode === 'insert' ? '' : cellSource(await readForDiff(path, session), id)
  const after = mode === 'delete' ? '' : source
  return before === undefined ? { path, after } : { path, before, after }
}

function cellSource(notebook: string | null | undefined, id: unknown): string | undefined {
  try {
    const { cells } = JSON.parse(notebook ?? '') as { cells: { id?: string; source?: string | string[] }[] }
    const index = typeof id === 'string' ? /^cell-(\d+)$/.exec(id)?.[1] : undefined
    const cell = cells.find((one) => one.id === id) ?? cells[Number(index ?? Number.NaN)]
    return cell && [cell.source ?? ''].flat().join('')
  } catch {
    return undefined
  }
}
