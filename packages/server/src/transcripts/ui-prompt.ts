import type { EventOf, PromptPart, UiMessage } from '@parley/protocol'

type Part = UiMessage['parts'][number]

/** A prompt as the message of a user, with the id that its page gave it. */
export function promptMessage(prompt: EventOf<'prompt.submitted'>): UiMessage {
  const { messageId, promptId, parts } = prompt
  return { id: messageId ?? promptId, role: 'user', parts: parts.map(partOf) }
}

function partOf(part: PromptPart): Part {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      return filePart(part.mimeType, part.name, part.data)
    case 'file':
      return fileOf(part)
    case 'command':
      return { type: 'text', text: `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}` }
  }
}

function fileOf(part: Extract<PromptPart, { type: 'file' }>): Part {
  const { name, mimeType, path, text, data } = part
  if (data !== undefined) return filePart(mimeType ?? 'application/octet-stream', name, data)
  if (text !== undefined) return filePart(mimeType ?? 'text/plain', name, base64(text))
  return { type: 'data-file', data: { name, path } }
}

function filePart(mediaType: string, filename: string | undefined, data: string): Part {
  const url = `data:${mediaType};base64,${data}`
  return { type: 'file', mediaType, ...(filename !== undefined && { filename }), url }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
