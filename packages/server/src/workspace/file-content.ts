import type { FileHandle } from 'node:fs/promises'
import { ParleyError } from '@parley/protocol'

export const maxTextBytes = 2 * 1024 * 1024
export const maxImageBytes = 10 * 1024 * 1024
/** The number of bytes at the beginning of a file that determine its type. */
export const headBytes = 8_000

export type Content =
  | { readonly type: 'text'; readonly text: string; readonly cut: boolean }
  | { readonly type: 'image'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'binary' }

/**
 * The number of bytes of a file that are needed to show it: all bytes of an image, the beginning of a text, none of
 * another file. Throws ParleyError `too_large` for a large image.
 */
export function bytesToRead(head: Uint8Array, size: number): number {
  const mimeType = imageType(head)
  if (mimeType === undefined) return isBinary(head) ? 0 : maxTextBytes
  if (size <= maxImageBytes) return size
  throw new ParleyError(
    'too_large',
    `The image is larger than ${maxImageBytes / 2 ** 20} MB. Open it in another program.`,
    { details: { size } },
  )
}

/** Determines the type of a file from its first bytes; its name is not considered. Returns the content to show. */
export function contentOf(bytes: Uint8Array, size: number): Content {
  const head = bytes.subarray(0, headBytes)
  const mimeType = imageType(head)
  if (mimeType !== undefined) return { type: 'image', mimeType, data: Buffer.from(bytes).toString('base64') }
  if (isBinary(head)) return { type: 'binary' }
  const shown = bytes.subarray(0, maxTextBytes)
  const cut = size > shown.length
  // An incomplete character at the end is left out.
  return { type: 'text', text: new TextDecoder(encodingOf(head)).decode(shown, { stream: cut }), cut }
}

/** Reads the part of an open file that is shown. */
export async function readContent(handle: FileHandle, size: number): Promise<Content> {
  const head = await readBytes(handle, headBytes, 0)
  const rest = head.length < headBytes ? 0 : bytesToRead(head, size) - head.length
  const more = rest > 0 ? await readBytes(handle, rest, head.length) : undefined
  return contentOf(more ? Buffer.concat([head, more]) : head, size)
}

async function readBytes(handle: FileHandle, length: number, from: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await handle.read(buffer, read, length - read, from + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return buffer.subarray(0, read)
}

function isBinary(head: Uint8Array): boolean {
  return encodingOf(head) === 'utf-8' && head.includes(0)
}

function encodingOf([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

/** The types of images that a browser shows and that cannot contain scripts. */
function imageType(head: Uint8Array): string | undefined {
  const text = (from: number, to: number) => Buffer.from(head.subarray(from, to)).toString('latin1')
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png'
  if (text(0, 3) === '\xff\xd8\xff') return 'image/jpeg'
  if (/^GIF8[79]a$/.test(text(0, 6))) return 'image/gif'
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'image/webp'
  if (text(4, 8) === 'ftyp' && /^avi[fs]$/.test(text(8, 12))) return 'image/avif'
  return text(0, 2) === 'BM' && head.length >= 26 && head[14] === 40 ? 'image/bmp' : undefined
}
