import type { Diff, ToolContent } from '@parley/protocol'
import { compareTexts, patchText } from '@parley/protocol/diff'
import type { NativeContent, NativeToolContent } from './native.ts'
import type { Call, TranslateState } from './translate-state.ts'
import { isRecord } from './translate-state.ts'

/** What a call gave. What the agent showed of it before it ran is no result, but for the change it made. */
export function resultOf(
  { dialect }: TranslateState,
  call: Pick<Call, 'kind' | 'content'>,
  result: { content: readonly NativeToolContent[] | undefined; rawOutput: unknown },
): ToolContent[] {
  const given = result.content ?? call.content.filter(({ type }) => type === 'diff')
  const content = given.flatMap((item) => contentOf(item))
  if (content.length === 0) content.push(...outputOf(result.rawOutput))
  if (call.kind !== 'execute') return content
  return content.map((item) => (item.type === 'text' ? terminalOf(item.text, dialect.exitCode) : item))
}

/** The words in the content of a call, or nothing if there are none. */
export function textIn(content: readonly NativeToolContent[]): string {
  return content.flatMap((item) => (item.type === 'content' ? (item.content?.text ?? []) : [])).join('\n')
}

/** The changes in the content of a call. */
export function diffsIn(content: readonly NativeToolContent[]): Diff[] {
  return content.filter(({ type }) => type === 'diff').map(diffOf)
}

/** A new file whole, a change as a patch: the file as it was may be large, and stays out of the log. */
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

/** A result that is one block of code, and nothing else, is what stands in it. */
function unfenced(text: string): string {
  const [, inner] = /^```[\w-]*\n([\s\S]*?)\n?```\s*$/.exec(text) ?? []
  return inner === undefined || inner.includes('\n```') ? text : inner
}

function terminalOf(text: string, exitCode: string | undefined): ToolContent {
  const [frame, code] = (exitCode && new RegExp(exitCode).exec(text)) || []
  if (frame === undefined) return { type: 'terminal', output: text }
  return { type: 'terminal', output: text.slice(frame.length), exitCode: Number(code) }
}
