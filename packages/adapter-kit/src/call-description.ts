import { isAbsolute, relative } from 'node:path'
import { isRecord, type ToolKind, type ToolLocation } from '@parley/protocol'

/** Descriptions of tool calls for people. They never use the model's own description of a call. */

export type CallInput = Readonly<Record<string, unknown>>

/** The tools of an agent by name: the kind of each, and the title of a call. `path` shortens the path in a field. */
export type ToolTable = Readonly<
  Record<string, readonly [ToolKind, (input: CallInput, path: (field: string) => string) => string]>
>

/** Describes a call of a tool in the table. Undefined if the table lacks the tool. */
export function describeTool(
  tools: ToolTable,
  name: string,
  input: CallInput,
  cwd: string | undefined,
): { readonly kind: ToolKind; readonly title: string } | undefined {
  const [kind, titleOf] = (Object.hasOwn(tools, name) && tools[name]) || []
  const path = (field: string) => shortPath(textField(input, field), cwd) || 'a file'
  return kind && titleOf && { kind, title: shortTitle(titleOf(input, path)) }
}

/** The file that the first non-empty field names, with the line at which reading starts. */
export function locationsIn(input: CallInput, fields: readonly string[]): ToolLocation[] {
  const path = fields.map((field) => textField(input, field)).find((value) => value !== '')
  if (path === undefined) return []
  const { offset: line } = input
  return [typeof line === 'number' ? { path, line } : { path }]
}

/** The path relative to the folder if the path lies inside it; otherwise the path unchanged. */
export function shortPath(path: string, cwd: string | undefined): string {
  if (!cwd || !isAbsolute(path)) return path
  const near = relative(cwd, path)
  return near === '' || near.startsWith('..') ? path : near
}

export function firstLine(text: string): string {
  const [first = '', ...rest] = text.trim().split('\n')
  return rest.length > 0 ? `${first} …` : first
}

const titleLength = 200

export function shortTitle(title: string): string {
  return title.length > titleLength ? `${title.slice(0, titleLength - 1)}…` : title
}

/** The value of a field if it is a string, otherwise an empty string. */
export function textField(input: CallInput, field: string): string {
  const value = input[field]
  return typeof value === 'string' ? value : ''
}

export function firstQuestion(input: CallInput): string {
  const [first] = Array.isArray(input.questions) ? input.questions : []
  return isRecord(first) ? textField(first, 'question') : ''
}
