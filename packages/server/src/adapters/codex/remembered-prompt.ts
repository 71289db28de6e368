import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import type { PromptPart } from '@parley/protocol'
import { imageFrom } from './translate-content.ts'

/** An input of a person as Codex stores it: a text, or the name of an attachment. */
type StoredInput = {
  readonly type: string
  readonly text?: string
  readonly url?: string
  readonly path?: string
  readonly name?: string
}

const imageTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
}
const largestImage = 20 * 1024 * 1024

/** The prompt as it was sent. Skills and mentions are also in the text; a prompt without text is the skill itself. */
export async function promptOf({ content }: { readonly content?: unknown }): Promise<PromptPart[]> {
  const inputs = (Array.isArray(content) ? content : []) as readonly StoredInput[]
  const parts = (await Promise.all(inputs.map(partsOf))).flat()
  if (parts.length > 0) return parts
  return inputs.flatMap(({ type, name }) =>
    type === 'skill' && name !== undefined ? [{ type: 'command', name }] : [],
  )
}

async function partsOf({ type, text, url, path }: StoredInput): Promise<PromptPart[]> {
  switch (type) {
    case 'text':
      return text ? [{ type: 'text', text }] : []
    case 'image':
      return [imageFrom(url) ?? named('image', url)]
    case 'localImage':
      return [(await imageAt(path ?? '')) ?? named('image', path)]
    case 'audio':
    case 'localAudio':
      return [named('audio', path)]
    default:
      return []
  }
}

/** The image, if the file still exists. */
async function imageAt(path: string): Promise<PromptPart | undefined> {
  const mimeType = imageTypes[extname(path).toLowerCase()]
  if (mimeType === undefined) return undefined
  try {
    if ((await stat(path)).size > largestImage) return undefined
    return { type: 'image', mimeType, data: await readFile(path, 'base64') }
  } catch {
    return undefined
  }
}

function named(what: string, where: string | undefined): PromptPart {
  const known = where !== undefined && !where.startsWith('data:')
  return { type: 'text', text: known ? `[${what}: ${where}]` : `[${what}]` }
}
