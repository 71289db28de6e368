import { isAbsolute, join } from 'node:path'
import type {
  ContentBlock,
  ToolKind as NativeKind,
  ToolCallContent,
  ToolCallLocation,
} from '@agentclientprotocol/sdk/unstable'
import type { Diff, ToolContent, ToolKind, ToolLocation } from '@parley/protocol'
import { type DiffHunk, type DiffLine, parsePatch } from '@parley/protocol/diff'

/** A subagent does not get the kind `think`, because an editor may treat that kind as harmless. */
const kinds: Record<ToolKind, NativeKind> = {
  read: 'read',
  edit: 'edit',
  delete: 'delete',
  move: 'move',
  search: 'search',
  execute: 'execute',
  fetch: 'fetch',
  think: 'think',
  plan: 'switch_mode',
  subagent: 'other',
  other: 'other',
}

export function nativeKind(kind: ToolKind): NativeKind {
  return kinds[kind]
}

/** The absolute path of a file, as ACP requires. */
export function wholePath(path: string, cwd: string): string {
  return isAbsolute(path) ? path : join(cwd, path)
}

export function nativeLocations(
  locations: readonly ToolLocation[] | undefined,
  cwd: string,
): ToolCallLocation[] {
  return (locations ?? []).map(({ path, line }) => ({
    path: wholePath(path, cwd),
    ...(line !== undefined && { line }),
  }))
}

export function nativeContent(content: readonly ToolContent[], cwd: string): ToolCallContent[] {
  return content.flatMap((item) => contentOf(item, cwd))
}

function contentOf(item: ToolContent, cwd: string): ToolCallContent[] {
  switch (item.type) {
    case 'text':
      return item.text === '' ? [] : [block({ type: 'text', text: item.text })]
    case 'image':
      return [block({ type: 'image', mimeType: item.mimeType, data: item.data })]
    case 'diff':
      return nativeDiffs(item, cwd)
    case 'terminal':
      return terminal(item)
    case 'resource':
      return [block(resource(item))]
  }
}

/** An ACP diff is a pair of texts, old and new. Each hunk of a patch becomes one pair. */
export function nativeDiffs(diff: Diff, cwd: string): ToolCallContent[] {
  const path = wholePath(diff.path, cwd)
  const { before, after, patch } = diff
  const isWhole = before !== undefined || after !== undefined
  if (isWhole || patch === undefined)
    return [{ type: 'diff', path, oldText: before ?? null, newText: after ?? '' }]
  const files = parsePatch(patch)?.filter(({ hunks }) => hunks.length > 0) ?? []
  if (files.length === 0) return [block({ type: 'text', text: fenced(patch, 'diff') })]
  return files.flatMap((file) =>
    file.hunks.map((hunk) => ({
      type: 'diff' as const,
      path: files.length === 1 ? path : wholePath(file.path, cwd),
      oldText: sideOf(hunk, 'added'),
      newText: sideOf(hunk, 'removed'),
    })),
  )
}

/** The text of one side of a hunk, without the lines of the type `other`, which only the other side has. */
function sideOf({ lines }: DiffHunk, other: DiffLine['type']): string {
  return lines
    .flatMap(({ type, text, noNewline }) => (type === other ? [] : [noNewline ? text : `${text}\n`]))
    .join('')
}

function terminal({ output, exitCode, signal }: Extract<ToolContent, { type: 'terminal' }>) {
  const shown = output === '' ? [] : [block({ type: 'text', text: fenced(output, 'console') })]
  if (signal === undefined && !exitCode) return shown
  const text = signal === undefined ? `Exit code: ${exitCode}` : `Ended by ${signal}`
  return [...shown, block({ type: 'text', text })]
}

function resource(item: Extract<ToolContent, { type: 'resource' }>): ContentBlock {
  const { uri, mimeType, text } = item
  const kind = mimeType === undefined ? {} : { mimeType }
  if (text === undefined) return { type: 'resource_link', name: uri, uri, ...kind }
  return { type: 'resource', resource: { uri, text, ...kind } }
}

/** The output in a code fence that is longer than any fence in the output. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`
}

export function block(content: ContentBlock): ToolCallContent {
  return { type: 'content', content }
}
