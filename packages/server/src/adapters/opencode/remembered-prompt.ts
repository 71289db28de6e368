import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PromptPart } from '@parley/protocol'
import type { NativePart } from './native.ts'
import type { KeptMessage } from './remembered.ts'

/** The prompt in a message, or nothing: OpenCode also adds text of its own to messages of the person. */
export function promptOf(
  { info, parts }: KeptMessage,
  next: KeptMessage | undefined,
  cwd: string,
): PromptPart[] {
  if (info.role !== 'user') return []
  const said = parts.flatMap((part) => partsOf(part, cwd))
  return said.length > 0 ? said : shellLine(parts, next)
}

/** A shell command, which the terminal program takes after a `!`: the answer contains what it ran. */
function shellLine(parts: readonly NativePart[], next: KeptMessage | undefined): PromptPart[] {
  const [ran, ...more] = next?.parts ?? []
  const isAnswer = next?.info.role === 'assistant' && next.info.parentID === parts[0]?.messageID
  if (!isAnswer || ran?.type !== 'tool' || more.length > 0) return []
  const { command } = ran.state.input
  return typeof command === 'string' ? [{ type: 'text', text: `!${command}` }] : []
}

function partsOf(part: NativePart, cwd: string): PromptPart[] {
  switch (part.type) {
    case 'text':
      return part.synthetic || part.ignored || part.text === '' ? [] : [{ type: 'text', text: part.text }]
    case 'file':
      return [filePart(part, cwd)]
    case 'compaction':
      return part.auto ? [] : [{ type: 'command', name: 'compact' }]
    case 'subtask':
      return [subtask(part)]
    default:
      return []
  }
}

/** A command that starts a subagent, or a subagent that was addressed by name. */
function subtask(part: Extract<NativePart, { type: 'subtask' }>): PromptPart {
  if (part.command !== undefined) return { type: 'command', name: part.command, arguments: part.prompt }
  return { type: 'text', text: `@${part.agent} ${part.prompt}` }
}

const dataUrl = /^data:[^,]*;base64,([A-Za-z0-9+/]*=*)$/s

function filePart(part: Extract<NativePart, { type: 'file' }>, cwd: string): PromptPart {
  const { mime, url, filename } = part
  const data = dataUrl.exec(url)?.[1]
  const named = filename === undefined ? {} : { name: filename }
  if (data !== undefined && mime.startsWith('image/'))
    return { type: 'image', mimeType: mime, data, ...named }
  if (data !== undefined) return { type: 'file', name: filename ?? 'file', mimeType: mime, data }
  const path = pathIn(url, cwd)
  if (path === undefined) return { type: 'text', text: `[file: ${url.startsWith('data:') ? filename : url}]` }
  return { type: 'file', name: filename ?? path, mimeType: mime, path }
}

/** The path relative to the folder, if it lies inside. */
function pathIn(url: string, cwd: string): string | undefined {
  if (!url.startsWith('file:')) return undefined
  try {
    const path = relative(cwd, fileURLToPath(url.replace(/[?#].*$/, '')))
    return path === '' || path.startsWith('..') || isAbsolute(path) ? undefined : path
  } catch {
    return undefined
  }
}
