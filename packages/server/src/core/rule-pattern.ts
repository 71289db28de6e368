import {
  fitsGlob,
  isFileField,
  isHarmlessField,
  isSoughtField,
  isWrittenField,
  type RulePattern,
  type ToolKind,
} from '@parley/protocol'
import { canonical, hashOf } from './hash.ts'
import { simpleCommands } from './simple-commands.ts'

/** The call that a pattern is compared with. */
export type Asked = { readonly tool: string; readonly input: unknown }

/**
 * `outside`: the call names a file outside the session's folders. `protected`: it changes a protected file. A grant
 * covers such a call only if its pattern has the same field.
 */
export type Reach = {
  readonly outside?: boolean | undefined
  readonly protected?: boolean | undefined
}

/** The characters that control a shell: a `*` in a grant never matches any of them. */
const shellSyntax = /[;&|`$<>\n\r()]/

/**
 * True if a grant covers a call. A grant that names fields does not cover a call with other fields, unless these are
 * harmless (`isHarmlessField`): the same command in another folder, or without its sandbox, is another call.
 */
export function covers(pattern: RulePattern, asked: Asked & Reach): boolean {
  if (asked.outside && !pattern.outside) return false
  if (asked.protected && !pattern.protected) return false
  if (pattern.tool !== '*' && pattern.tool !== asked.tool) return false
  const { match, exact, any } = pattern
  if (!match && !exact && !any) return true
  const input = recordOf(asked.input)
  if (!input) return false
  const isNamed = (field: string) =>
    Object.hasOwn(match ?? {}, field) || Object.hasOwn(exact ?? {}, field) || any?.includes(field)
  return (
    Object.entries(match ?? {}).every(([field, text]) => fitsGrant(text, field, own(input, field))) &&
    hasExactly(input, exact) &&
    Object.entries(input).every(
      ([field, value]) => value === undefined || isNamed(field) || isHarmlessField(field, value),
    )
  )
}

/**
 * True if a restricting rule applies to a call: `*` matches anything, and an extra field does not prevent the match.
 */
export function touches(pattern: RulePattern, { tool, input }: Asked): boolean {
  if (pattern.tool !== '*' && pattern.tool !== tool) return false
  const { match = {}, exact } = pattern
  const fields = recordOf(input)
  if (!fields) return Object.keys({ ...match, ...exact }).length === 0
  return (
    hasExactly(fields, exact) &&
    Object.entries(match).every(([field, text]) => fitsRefusal(text, field, own(fields, field)))
  )
}

/**
 * True if a grant's text matches the value of a field. The value `true` matches the text `true`; a command matches
 * only as a string.
 */
function fitsGrant(text: string, field: string, value: unknown): boolean {
  const isText = typeof value === 'string' || (value === true && !commandFields.has(field))
  return isText && fitsGlob(text, String(value), { barred: shellSyntax })
}

function fitsRefusal(text: string, field: string, value: unknown): boolean {
  const words = typeof value === 'string' ? value : JSON.stringify(value)
  if (words === undefined) return false
  if (fitsGlob(text, words)) return true
  if (!commandFields.has(field)) return false
  const commands = simpleCommands(value)
  return !commands || commands.some((command) => fitsGlob(text, command))
}

function hasExactly(input: Fields, exact: RulePattern['exact'] = {}): boolean {
  return Object.entries(exact).every(
    ([field, value]) => own(input, field) !== undefined && hashOf(input[field]) === hashOf(value),
  )
}

type Fields = Readonly<Record<string, unknown>>

function own(input: Fields, field: string): unknown {
  return Object.hasOwn(input, field) ? input[field] : undefined
}

/** The fields of an input; undefined if it is not an object. A missing input counts as an input without fields. */
function recordOf(input: unknown): Fields | undefined {
  if (input === undefined || input === null) return {}
  return typeof input === 'object' && !Array.isArray(input) ? (input as Fields) : undefined
}

/** The fields that contain a command, by the names that agents use. */
const commandFields = new Set(['command', 'cmd', 'script'])
const largestPattern = 10_000

/**
 * The pattern that a lasting answer to this call stores: exactly this call or, for a tool that reads or edits files,
 * every use of the tool inside the folders. Undefined if no lasting answer is possible, because the call cannot be
 * distinguished from others or changes a protected file.
 */
export function patternFor(asked: Asked & Reach & { readonly kind: ToolKind }): RulePattern | undefined {
  const { tool, kind, outside } = asked
  const input = recordOf(asked.input)
  if (tool === '*' || asked.protected || kind === 'plan' || !input) return undefined
  const fields = Object.entries(input).filter(
    ([name, value]) => value !== undefined && !isHarmlessField(name, value),
  )
  const hasCommand = fields.some(([name]) => commandFields.has(name))
  if (kind === 'execute' && !hasCommand) return undefined
  const isCommand = hasCommand && kind !== 'subagent'
  const { command } = input
  const mayVary = (name: string) => {
    // A prompt for a subagent, or a question about a fetched page, changes nothing by itself.
    if (kind === 'subagent' || kind === 'fetch') return name === 'prompt'
    return !isCommand && !outside && varies(kind, name)
  }
  const any = fields.map(([name]) => name).filter(mayVary)
  const isText = isCommand && typeof command === 'string'
  const exact = fields.filter(([name]) => !any.includes(name) && !(isText && name === 'command'))
  const pattern: RulePattern = {
    tool,
    ...(isText && { match: { command: escaped(command) } }),
    ...((exact.length > 0 || !isText) && { exact: Object.fromEntries(exact) }),
    ...(any.length > 0 && { any }),
    ...(outside && { outside }),
  }
  const isTooMuch = Object.hasOwn(input, '__proto__') || canonical(pattern).length > largestPattern
  return isTooMuch ? undefined : pattern
}

/**
 * True for the fields that may have any value in a grant for a tool that reads or edits files. Whether a call names
 * files outside the folders is checked separately.
 */
function varies(kind: ToolKind, name: string): boolean {
  if (kind === 'edit') return isWrittenField(name) || (isFileField(name) && !isWorkingFolder(name))
  const reads = kind === 'read' || kind === 'search'
  return reads && (isSoughtField(name) || (isFileField(name) && !isWorkingFolder(name)))
}

function isWorkingFolder(name: string): boolean {
  return name === 'cwd' || name === 'workdir'
}

function escaped(text: string): string {
  return text.replace(/[\\*]/g, '\\$&')
}
