import type { EventOf, ToolContent } from '@parley/protocol'
import type { UiChunk } from './ui-chunk.ts'

/** The result of a call as the output of a tool part. It is plain text if the result contains only text. */
export function outputOf(content: readonly ToolContent[]): unknown {
  if (content.every((one) => one.type === 'text')) return textOf(content)
  return { content: content.map(withoutImage) }
}

/**
 * The images of a call as files of the message, because every page shows files. The output only mentions
 * them.
 */
export function filesOf(content: readonly ToolContent[]): UiChunk[] {
  return content.flatMap((one): UiChunk[] =>
    one.type === 'image'
      ? [{ type: 'file', mediaType: one.mimeType, url: `data:${one.mimeType};base64,${one.data}` }]
      : [],
  )
}

export function textOf(content: readonly ToolContent[]): string {
  return content.map(partText).filter(Boolean).join('\n')
}

const reasons = { completed: '', failed: 'The call failed.', denied: 'Denied.', cancelled: 'Cancelled.' }

export function errorOf({ content, outcome }: EventOf<'tool-call.ended'>): string {
  return textOf(content) || reasons[outcome]
}

function partText(one: ToolContent): string {
  if (one.type === 'text') return one.text
  if (one.type === 'terminal') return one.output
  if (one.type === 'resource') return one.text ?? one.uri
  return one.type === 'diff' ? one.path : ''
}

function withoutImage(one: ToolContent): unknown {
  return one.type === 'image' ? { type: one.type, mimeType: one.mimeType } : one
}
