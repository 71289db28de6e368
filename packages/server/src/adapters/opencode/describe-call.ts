import {
  type CallInput,
  describeTool,
  firstLine,
  firstQuestion,
  locationsIn,
  shortTitle,
  type ToolTable,
  textField as text,
} from '@parley/adapter-kit/call-description'
import { kindOfPatch, type PatchedFile, patchedFiles, pathsOfPatch } from '@parley/adapter-kit/patch-headers'
import { isRecord, type ToolKind, type ToolLocation } from '@parley/protocol'

export type CallDescription = {
  readonly kind: ToolKind
  readonly title: string
  readonly locations?: ToolLocation[]
}

const tools: ToolTable = {
  bash: ['execute', (input) => firstLine(text(input, 'command')) || 'Run a command'],

  read: ['read', (_, path) => `Read ${path('filePath')}`],
  list: ['read', (_, path) => `List ${path('path')}`],
  list_mcp_resources: ['read', () => 'List resources'],
  list_mcp_resource_templates: ['read', () => 'List resource templates'],
  read_mcp_resource: ['read', (input) => `Read ${text(input, 'uri') || 'a resource'}`],
  skill: ['read', (input) => `Read the skill ${text(input, 'name')}`],
  edit: ['edit', (_, path) => `Edit ${path('filePath')}`],
  write: ['edit', (_, path) => `Write ${path('filePath')}`],
  apply_patch: ['edit', (input) => titleOfPatch(filesOf(input))],

  glob: ['search', (input) => `Find ${text(input, 'pattern') || 'files'}`],
  grep: ['search', (input) => `Search for "${text(input, 'pattern')}"`],
  lsp: ['search', (_, path) => `Look up code in ${path('filePath')}`],
  webfetch: ['fetch', (input) => `Fetch ${text(input, 'url') || 'a page'}`],
  websearch: ['fetch', (input) => `Search the web for "${text(input, 'query')}"`],

  task: ['subagent', (input) => text(input, 'description') || 'Start a subagent'],
  todowrite: ['think', () => 'Update the plan'],
  plan_enter: ['plan', () => 'Make a plan first'],
  plan_exit: ['plan', () => 'Leave plan mode'],
  question: ['other', (input) => `Ask: ${firstQuestion(input) || 'a question'}`],
  invalid: ['other', (input) => `Invalid call: ${text(input, 'tool')}`],
  StructuredOutput: ['other', () => 'Give the result'],
}

export function describeCall(
  name: string,
  input: unknown,
  { cwd, servers = [] }: { cwd?: string | undefined; servers?: readonly string[] } = {},
): CallDescription {
  const fields = isRecord(input) ? input : {}
  const patched = name === 'apply_patch' ? filesOf(fields) : undefined
  const { kind, title } = describeTool(tools, name, fields, cwd) ?? {
    kind: 'other',
    title: shortTitle(titleOfUnknown(name, servers)),
  }
  const locations = patched
    ? pathsOfPatch(patched).map((path) => ({ path }))
    : locationsIn(fields, ['filePath', 'path'])
  return {
    kind: patched ? kindOfPatch(patched) : kind,
    title,
    ...(locations.length > 0 && { locations }),
  }
}

function titleOfUnknown(name: string, servers: readonly string[]): string {
  const server = servers.find((one) => name.startsWith(`${nativeName(one)}_`))
  return server === undefined ? name : `${server}: ${name.slice(nativeName(server).length + 1)}`
}

/** The name of an MCP server as it appears in the names of its tools. */
function nativeName(server: string): string {
  return server.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

function filesOf(input: CallInput): PatchedFile[] {
  return patchedFiles(text(input, 'patchText'))
}

/** The title of a patch. Deleted and moved files come first, since a title may be shortened. */
function titleOfPatch(files: readonly PatchedFile[]): string {
  const words = (action: PatchedFile['action'], verb: string) => {
    const names = files
      .filter((file) => file.action === action)
      .map(({ path, to }) => (to === undefined ? path : `${path} to ${to}`))
    return names.length === 0 ? [] : [`${verb} ${names.join(', ')}`]
  }
  const does = [...words('delete', 'delete'), ...words('move', 'move'), ...words('edit', 'change')].join('; ')
  return does === '' ? 'Change files' : `${does[0]?.toUpperCase()}${does.slice(1)}`
}
