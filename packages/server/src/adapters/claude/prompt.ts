import { createHash } from 'node:crypto'
import type { SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import type { PromptPart } from '@parley/protocol'

type Content = Exclude<SDKUserMessage['message']['content'], string>
type ContentBlock = Content[number]

/** Converts a prompt to a message of the SDK. Pure. */
export function userMessage(parts: readonly PromptPart[], uuid: string, steer: boolean): SDKUserMessage {
  return {
    type: 'user',
    uuid: uuid as NonNullable<SDKUserMessage['uuid']>,
    message: { role: 'user', content: parts.map(contentBlock) },
    parent_tool_use_id: null,
    ...(steer && { priority: 'next' as const }),
  }
}

function contentBlock(part: PromptPart): ContentBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'command':
      return { type: 'text', text: `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}` }
    case 'image':
      return {
        type: 'image',
        source: { type: 'base64', media_type: part.mimeType as 'image/png', data: part.data },
      }
    case 'file':
      return { type: 'text', text: fileText(part) }
  }
}

function fileText(part: Extract<PromptPart, { type: 'file' }>): string {
  if (part.path !== undefined) return `@${part.path}`
  const text = part.text ?? Buffer.from(part.data ?? '', 'base64').toString('utf8')
  return `<file name="${part.name.replaceAll('"', "'")}">\n${text}\n</file>`
}

/**
 * The uuid under which a prompt is sent to the agent. It depends only on the id of the prompt, so that the prompt can
 * be found in a transcript after a restart.
 */
export function promptUuid(promptId: string): `${string}-${string}-${string}-${string}-${string}` {
  const hex = createHash('sha256').update(promptId).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
