import { type PromptPart, promptText } from '@parley/protocol'

/** `size` is the number of bytes on the wire. */
export type Attachment = { readonly id: number; readonly part: PromptPart; readonly size: number }

/** The limit for one file: the server accepts bodies of up to twelve megabytes, and base64 adds a third. */
const maxFileBytes = 8_000_000
/** The limit for all attachments of a prompt. It leaves a megabyte for the text. */
const maxTotalBytes = 11 * 1024 * 1024

const isPicture = (type: string) => /^image\/(png|jpeg|gif|webp)$/.test(type)

/** The text of the bytes if they are valid UTF-8 without a zero byte. */
function asText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Encodes bytes as base64. Uses the encoder of the browser if it exists: for a large image, the loop below
 * blocks the page for a second.
 */
export function toBase64(bytes: Uint8Array & { toBase64?(): string }): string {
  if (bytes.toBase64) return bytes.toBase64()
  let binary = ''
  for (let at = 0; at < bytes.length; at += 32_768) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 32_768))
  }
  return btoa(binary)
}

export function partOf(
  file: { readonly name: string; readonly type: string },
  bytes: Uint8Array,
): PromptPart {
  if (isPicture(file.type)) {
    return { type: 'image', mimeType: file.type, data: toBase64(bytes), name: file.name }
  }
  const text = asText(bytes)
  const mimeType = file.type === '' ? {} : { mimeType: file.type }
  if (text !== undefined) return { type: 'file', name: file.name, ...mimeType, text }
  return { type: 'file', name: file.name, ...mimeType, data: toBase64(bytes) }
}

export function sizeOf(part: PromptPart): number {
  const { data = '', ...rest } = part as { data?: string }
  return data.length + new Blob([JSON.stringify(rest)]).size
}

let nextId = 1

export function createAttachment(part: PromptPart): Attachment {
  return { id: nextId++, part, size: sizeOf(part) }
}

export function promptParts(text: string, attached: readonly Attachment[]): PromptPart[] {
  const words = text.trim()
  return [
    ...(words === '' ? [] : [{ type: 'text' as const, text: words }]),
    ...attached.map(({ part }) => part),
  ]
}

export function splitPrompt(parts: readonly PromptPart[]): { text: string; attached: PromptPart[] } {
  const isAttachment = ({ type }: PromptPart) => type === 'image' || type === 'file'
  return {
    text: promptText(parts.filter((part) => !isAttachment(part))),
    attached: parts.filter(isAttachment),
  }
}

/** The error for a file that does not fit beside the attachments in `attached`; undefined if it fits. */
export function overflow(name: string, size: number, attached: readonly Attachment[]): string | undefined {
  const together = attached.reduce((sum, one) => sum + one.size, size)
  if (together <= maxTotalBytes) return undefined
  return `${name} does not fit: a prompt can have ${maxFileBytes / 1_000_000} MB of attachments. Send it with the next prompt.`
}

/** The error for a file that cannot be attached; undefined if the file can be attached. */
export function refusal(
  file: { readonly name: string; readonly type: string; readonly size: number },
  can: { readonly images: boolean; readonly files: boolean },
): string | undefined {
  if (file.size > maxFileBytes) return `${file.name} is larger than ${maxFileBytes / 1_000_000} MB.`
  if (isPicture(file.type)) return can.images ? undefined : 'This agent does not accept images.'
  return can.files ? undefined : 'This agent does not accept files. Mention the file with @ instead.'
}
