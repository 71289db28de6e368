import { type Diff, isRecord, type ToolContent } from '@parley/protocol'
import { compareTexts, patchText } from '@parley/protocol/diff'
import type { NativeContent, NativeToolContent } from './native.ts'
import { type Call, metaAt, type TranslateState } from './translate-state.ts'

/** The result of a call. Content that the agent showed before the call ran is not a result, except for diffs. */
export function resultOf(
  { dialect }: TranslateState,
  call: Pick<Call, 'kind' | 'content'>,
  result: { content: readonly NativeToolContent[] | undefined; rawOutput: unknown; _meta?: unknown },
): ToolContent[] {
  const { outputInMeta } = dialect
  const given =
    result.content ?? call.content.filter(({ type }) => type === 'diff' || outputInMeta !== undefined)
  const content = given.flatMap((item) => contentOf(item))
  if (content.length === 0) content.push(...outputOf(result.rawOutput))
  if (call.kind !== 'execute') return content
  if (outputInMeta) {
    const exitCode = metaAt(result._meta, outputInMeta.exitCode)
    const output = textIn(given)
    return [{ type: 'terminal', output, ...(typeof exitCode === 'number' && { exitCode }) }]
  }
  return content.map((item) => (item.type === 'text' ? terminalOf(item.text, dialect.exitCode) : item))
}

/** The text in the content of a call, or an empty string. */
export function textIn(content: readonly NativeToolContent[]): string {
  return content.flatMap((item) => (item.type === 'content' ? (item.content?.text ?? []) : [])).join('\n')
}

export function diffsIn(content: readonly NativeToolContent[]): Diff[] {
  return content.filter(({ type }) => type === 'diff').map(diffOf)
}

/**
 * Returns a new file as its whole text, and a change as a patch. The previous content may be large and is not put
 * into the log.
 */
function diffOf({ path = '', oldText, newText = '' }: NativeToolContent): Diff {
  return typeof oldText === 'string'
    ? { path, patch: patchText(compareTexts(oldText, newText)) }
    : { path, before: null, after: newText }
}

function contentOf(item: NativeToolContent): ToolContent[] {
  switch (item.type) {
    case 'content':
      return item.content ? [blockOf(item.content)] : []
    case 'diff':
      return [{ type: 'diff', ...diffOf(item) }]
    default:
      return [{ type: 'text', text: JSON.stringify(item) }]
  }
}

function blockOf(content: NativeContent): ToolContent {
  const { type, text, mimeType, data, uri, resource } = content
  if (type === 'text') return { type: 'text', text: unfenced(text ?? '') }
  if (type === 'image' && data !== undefined && mimeType !== undefined)
    return { type: 'image', mimeType, data }
  const about = type === 'resource' ? resource : { uri, mimeType }
  if (about?.uri === undefined) return { type: 'text', text: JSON.stringify(content) }
  return {
    type: 'resource',
    uri: about.uri,
    ...(about.mimeType !== undefined && { mimeType: about.mimeType }),
    ...(resource?.text !== undefined && { text: resource.text }),
  }
}

function outputOf(rawOutput: unknown): ToolContent[] {
  if (rawOutput === undefined || rawOutput === null || rawOutput === '') return []
  if (typeof rawOutput === 'string') return [{ type: 'text', text: rawOutput }]
  if (isRecord(rawOutput) && typeof rawOutput.output === 'string')
    return [{ type: 'text', text: rawOutput.output }]
  return [{ type: 'text', text: JSON.stringify(rawOutput) }]
}

/** If the whole result is one fenced code block, returns its content. */
function unfenced(text: string): string {
  const [, inner] = /^```[\w-]*\n([\s\S]*?)\n?```\s*$/.exec(text) ?? []
  return inner === undefined || inner.includes('\n```') ? text : inner
}

function terminalOf(text: string, exitCode: string | undefined): ToolContent {
  const [frame, code] = (exitCode && new RegExp(exitCode).exec(text)) || []
  if (frame === undefined) return { type: 'terminal', output: text }
  return { type: 'terminal', output: text.slice(frame.length), exitCode: Number(code) }
}
