import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ContentBlock, EmbeddedResourceResource, ResourceLink } from '@agentclientprotocol/sdk/unstable'
import { type Capabilities, ParleyError, type PromptPart } from '@parley/protocol'

/** Parley's own command, offered for agents that can compact but do not list such a command. */
export const compact = { name: 'compact', description: 'Shorten the conversation' }

export type PromptContext = {
  readonly cwd: string
  readonly can: Pick<Capabilities, 'images' | 'files' | 'compaction'>
}

/**
 * Converts the blocks of an editor's prompt into prompt parts. The text of a file that the agent does not accept as a
 * file becomes prompt text. Audio is refused.
 */
export function promptParts(blocks: readonly ContentBlock[], context: PromptContext): PromptPart[] {
  const [first] = blocks
  const isCompact = blocks.length === 1 && first?.type === 'text' && first.text.trim() === `/${compact.name}`
  if (isCompact && context.can.compaction) return [{ type: 'command', name: compact.name }]
  return blocks.map((block) => partOf(block, context))
}

function partOf(block: ContentBlock, context: PromptContext): PromptPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      return { type: 'image', mimeType: block.mimeType, data: block.data }
    case 'resource_link':
      return linked(block, context)
    case 'resource':
      return embedded(block.resource, context)
    case 'audio':
      throw new ParleyError('not_supported', 'Parley does not accept audio. Send text instead.')
  }
}

/** A file inside the session's folder becomes a file part with its path; anything else becomes a Markdown link. */
function linked({ name, uri, mimeType }: ResourceLink, { cwd, can }: PromptContext): PromptPart {
  const path = pathIn(uri, cwd)
  if (path === undefined || isAbsolute(path) || !can.files) return { type: 'text', text: `[${name}](${uri})` }
  return { type: 'file', name, path, ...(mimeType && { mimeType }) }
}

function embedded(resource: EmbeddedResourceResource, { cwd, can }: PromptContext): PromptPart {
  const { uri } = resource
  const name = pathIn(uri, cwd) ?? uri
  const kind = resource.mimeType ? { mimeType: resource.mimeType } : {}
  if ('text' in resource) {
    if (can.files) return { type: 'file', name, text: resource.text, ...kind }
    return { type: 'text', text: `<file name="${name.replaceAll('"', "'")}">\n${resource.text}\n</file>` }
  }
  if (resource.mimeType?.startsWith('image/') && can.images)
    return { type: 'image', mimeType: resource.mimeType, data: resource.blob, name }
  return { type: 'file', name, data: resource.blob, ...kind }
}

/** The path of a file URI, relative if it is inside the folder; undefined if the URI names no file. */
function pathIn(uri: string, cwd: string): string | undefined {
  try {
    const path = fileURLToPath(uri)
    const inside = relative(cwd, path)
    return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside
  } catch {
    return undefined
  }
}

export function contentBlocks(parts: readonly PromptPart[], cwd: string): ContentBlock[] {
  return parts.map((part) => blockOf(part, cwd))
}

function blockOf(part: PromptPart, cwd: string): ContentBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'command':
      return { type: 'text', text: `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}` }
    case 'image':
      return { type: 'image', mimeType: part.mimeType, data: part.data }
    case 'file': {
      const kind = part.mimeType ? { mimeType: part.mimeType } : {}
      const uri = pathToFileURL(join(cwd, part.path ?? part.name)).href
      if (part.path !== undefined) return { type: 'resource_link', name: part.name, uri, ...kind }
      if (part.text !== undefined) return { type: 'resource', resource: { uri, text: part.text, ...kind } }
      return { type: 'resource', resource: { uri, blob: part.data ?? '', ...kind } }
    }
  }
}
