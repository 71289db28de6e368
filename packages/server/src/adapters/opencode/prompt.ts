import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PromptPart } from '@parley/protocol'

export type NativePromptPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mime: string; readonly url: string; readonly filename?: string }

/**
 * The id under which a prompt is sent to an OpenCode session. It is the same after a restart, so that it can be found,
 * and differs between sessions, since OpenCode stores all messages in one place.
 */
export function messageIdOf(sessionID: string, promptId: string): string {
  const hash = createHash('sha256').update(`${sessionID} ${promptId}`)
  return `msg_${hash.digest('hex').slice(0, 26)}`
}

/** Converts a prompt to the parts of OpenCode. Commands are not for the model: see `commandIn`. */
export function nativeParts(parts: readonly PromptPart[], cwd: string): NativePromptPart[] {
  return parts.map((part) => nativePart(part, cwd))
}

export type NativeCommand = {
  readonly name: string
  readonly arguments: string
  readonly files: NativePromptPart[]
}

/** The command at the start of a prompt, with all that follows it. */
export function commandIn([first, ...rest]: readonly PromptPart[], cwd: string): NativeCommand | undefined {
  if (first?.type !== 'command') return undefined
  const words = rest.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const files = rest.filter((part) => part.type === 'image' || part.type === 'file')
  return {
    name: first.name,
    arguments: [first.arguments ?? '', ...words].filter((text) => text !== '').join(' '),
    files: nativeParts(files, cwd).filter(({ type }) => type === 'file'),
  }
}

function nativePart(part: PromptPart, cwd: string): NativePromptPart {
  switch (part.type) {
    case 'text':
      return part
    case 'command':
      return { type: 'text', text: `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}` }
    case 'image':
      return file(part.mimeType, part.data, part.name)
    case 'file':
      return filePart(part, cwd)
  }
}

function filePart(part: Extract<PromptPart, { type: 'file' }>, cwd: string): NativePromptPart {
  const { name, path, mimeType = 'text/plain', text, data } = part
  if (path !== undefined) {
    const whole = resolve(cwd, path)
    if (!existsSync(whole)) return { type: 'text', text: `The file ${path} does not exist.` }
    return { type: 'file', mime: mimeType, url: pathToFileURL(whole).href, filename: path }
  }
  if (text !== undefined) return file('text/plain', Buffer.from(text).toString('base64'), name)
  return file(mimeType.startsWith('text/') ? 'text/plain' : mimeType, data ?? '', name)
}

function file(mime: string, base64: string, filename: string | undefined): NativePromptPart {
  return {
    type: 'file',
    mime,
    url: `data:${mime};base64,${base64}`,
    ...(filename !== undefined && { filename }),
  }
}
