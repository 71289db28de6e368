import { type Diff, isRecord, type ToolContent } from '@parley/protocol'
import type { NativeCallItem, NativeFileChange } from './native.ts'

/** The result of a call. `streamed` is its streamed output. */
export function contentOf(item: NativeCallItem, streamed = ''): ToolContent[] {
  switch (item.type) {
    case 'commandExecution':
      if (item.status === 'declined') return []
      return [{ type: 'terminal', output: item.aggregatedOutput ?? streamed, exitCode: item.exitCode }]
    case 'fileChange':
      return item.changes.map((change) => ({ type: 'diff', ...diffOf(change) }))
    case 'mcpToolCall':
      return [
        ...(item.result ? mcpContent(item.result) : []),
        ...(item.error ? [text(item.error.message)] : []),
      ]
    case 'dynamicToolCall':
      return (item.contentItems ?? []).map((one) => imageFrom(one.imageUrl) ?? text(one.text ?? ''))
    case 'collabAgentToolCall':
      return item.tool === 'spawnAgent' ? [text('Started in the background.')] : agentStates(item)
    case 'subAgentActivity':
      return [text('Started in the background.')]
    case 'imageGeneration':
      return imageContent(item)
    case 'functionCallOutput':
      if (typeof item.output === 'string') return [text(item.output)]
      return item.output.map((one) => text(one.text ?? JSON.stringify(one)))
    case 'webSearch':
    case 'imageView':
    case 'sleep':
      return []
  }
}

/** Returns a change as a patch, and a new or deleted file as its whole text. */
export function diffOf({ path, kind, diff }: NativeFileChange): Diff {
  if (kind.type === 'add') return { path, before: null, after: diff }
  if (kind.type === 'delete') return { path, before: diff, after: null }
  return kind.move_path ? { path: kind.move_path, movedFrom: path, patch: diff } : { path, patch: diff }
}

function mcpContent({
  content,
  structuredContent,
}: {
  content: readonly unknown[]
  structuredContent?: unknown
}): ToolContent[] {
  if (content.length > 0) return content.map(mcpBlock)
  return structuredContent == null ? [] : [text(JSON.stringify(structuredContent))]
}

function mcpBlock(block: unknown): ToolContent {
  const { type, text: words, data, mimeType, uri, resource } = isRecord(block) ? block : {}
  if (type === 'text') return text(String(words ?? ''))
  if (type === 'image') return { type: 'image', mimeType: String(mimeType), data: String(data) }
  const link = type === 'resource' && isRecord(resource) ? resource : { uri, mimeType }
  if (typeof link.uri !== 'string') return text(JSON.stringify(block))
  return {
    type: 'resource',
    uri: link.uri,
    ...(typeof link.mimeType === 'string' && { mimeType: link.mimeType }),
    ...('text' in link && typeof link.text === 'string' && { text: link.text }),
  }
}

function agentStates({ agentsStates }: Extract<NativeCallItem, { type: 'collabAgentToolCall' }>) {
  return Object.values(agentsStates).flatMap((state) => {
    if (!state) return []
    return [text(state.message ? `${state.status}: ${state.message}` : state.status)]
  })
}

function imageContent({ result, savedPath }: Extract<NativeCallItem, { type: 'imageGeneration' }>) {
  if (result) return [{ type: 'image' as const, mimeType: 'image/png', data: result }]
  return savedPath ? [text(savedPath)] : []
}

export function imageFrom(url: string | undefined): Extract<ToolContent, { type: 'image' }> | undefined {
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url ?? '') ?? []
  return mimeType && data ? { type: 'image', mimeType, data } : undefined
}

function text(words: string): Extract<ToolContent, { type: 'text' }> {
  return { type: 'text', text: words }
}
