import { firstLine, shortTitle } from '@parley/adapter-kit/call-description'
import { pathsIn } from '@parley/adapter-kit/paths-in-input'
import { isRecord, type ToolKind, ToolKind as ToolKinds } from '@parley/protocol'
import type { NativeCall } from './native.ts'
import { diffsIn, textIn } from './translate-content.ts'
import { type Call, inMeta, type TranslateState } from './translate-state.ts'

/** The purpose of a message about a call: to announce the call, to update it, or to ask permission for it. */
export type Mention = 'announced' | 'updated' | 'asked'

/** The call, updated with the fields of a new message. */
export function mergedCall(state: TranslateState, call: Call, native: NativeCall, mention: Mention): Call {
  const name = nameOf(state, native) ?? call.name
  const kind = kindOf(state, name, native.kind) ?? call.kind
  const title = native.title ?? call.title
  return {
    ...call,
    name: name || unnamed(kind),
    kind,
    title: title || name || kind,
    rawInput: isGiven(native.rawInput) ? native.rawInput : call.rawInput,
    content: contentWith(state, call, native),
    locations: native.locations ? locationsOf(native.locations) : call.locations,
    asked: call.asked || mention === 'asked',
  }
}

/** The content of the call. Output that the agent sends in pieces is added to the text so far. */
function contentWith({ dialect }: TranslateState, call: Call, native: NativeCall): Call['content'] {
  const { outputInMeta } = dialect
  if (!outputInMeta) return native.content ?? call.content
  const content = native.content?.filter(({ type }) => type !== 'terminal') ?? call.content
  const piece = inMeta(native._meta, outputInMeta.text)
  if (piece === undefined) return content
  return [{ type: 'content', content: { type: 'text', text: textIn(content) + piece } }]
}

/** The name of a tool that the agent does not name: its kind, or `*`, which no rule can grant by name. */
function unnamed(kind: ToolKind): string {
  return kind === 'other' ? '*' : kind
}

function nameOf({ dialect }: TranslateState, native: NativeCall): string | undefined {
  const { meta, callId = [] } = dialect.toolName ?? {}
  const reported = native.name ?? inMeta(native._meta, meta)
  if (reported) return reported
  for (const pattern of callId) {
    const [, name] = new RegExp(pattern).exec(native.toolCallId) ?? []
    if (name) return name
  }
  return undefined
}

function kindOf(
  { dialect }: TranslateState,
  name: string,
  native: string | null | undefined,
): ToolKind | undefined {
  const known = dialect.kinds && Object.hasOwn(dialect.kinds, name) ? dialect.kinds[name] : undefined
  if (known) return known
  if (native === undefined || native === null) return undefined
  if (native === 'switch_mode') return 'plan'
  const { data } = ToolKinds.safeParse(native)
  return data ?? 'other'
}

/** The input, or the text that the agent shows in place of it. A permission decision applies to exactly this value. */
export function inputOf({ dialect }: TranslateState, call: Call): unknown {
  const { rawInput, kind, title, content, locations } = call
  if (isGiven(rawInput)) return rawInput
  const text = textIn(content)
  if (kind === 'execute' && dialect.commandInTitle)
    return { command: title, ...(text && { description: text }) }
  const parsed = dialect.inputInContent ? objectIn(text) : undefined
  if (parsed) return parsed
  const [change, ...more] = diffsIn(content).map(({ path, patch, after }) =>
    patch === undefined ? { path, content: after } : { path, patch },
  )
  if (change) return more.length === 0 ? change : { changes: [change, ...more] }
  const paths = locations.map(({ path }) => path)
  return {
    title,
    ...(paths.length === 1 && { path: paths[0] }),
    ...(paths.length > 1 && { paths }),
    ...(text && { text }),
  }
}

function objectIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function locationsOf(native: NonNullable<NativeCall['locations']>): Call['locations'] {
  return native.map(({ path, line }) => (typeof line === 'number' ? { path, line } : { path }))
}

function isEmpty(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0
}

export function isGiven(input: unknown): boolean {
  return input !== undefined && input !== null && !isEmpty(input)
}

/** The first line of a title, shortened. */
export function shown(title: string): string {
  return shortTitle(firstLine(title))
}

/** Every file that a call names, in its locations, its content and its input. */
export function pathsOfCall({
  locations,
  content,
  input,
}: Pick<Call, 'locations' | 'content' | 'input'>): string[] {
  const reported = [...locations, ...content].flatMap(({ path }) => path || [])
  return [...new Set([...reported, ...pathsIn(input)])]
}
