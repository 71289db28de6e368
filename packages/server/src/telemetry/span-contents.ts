import type { PromptPart, ToolContent } from '@parley/protocol'

/** Contents as span attributes: JSON text in the shape that the conventions require, shortened. */

const maxCharacters = 16_384

export function shortened(text: string): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`
}

export function inputMessages(prompt: readonly PromptPart[]): string {
  return JSON.stringify([{ role: 'user', parts: prompt.map(partOf) }])
}

export function outputMessages(texts: readonly string[], finishReason: string): string {
  const parts = texts.map((content) => ({ type: 'text', content }))
  return JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason }])
}

/**
 * A part of a prompt. Images and files are given by name and type only, because a trace should not contain their
 * bytes.
 */
function partOf(part: PromptPart): object {
  if (part.type === 'text') return { type: 'text', content: shortened(part.text) }
  if (part.type === 'command')
    return { type: 'text', content: `/${part.name} ${part.arguments ?? ''}`.trim() }
  return { type: part.type, name: part.name, mime_type: part.mimeType }
}

export function resultText(content: readonly ToolContent[]): string {
  return shortened(content.map(textOf).join('\n'))
}

function textOf(content: ToolContent): string {
  switch (content.type) {
    case 'text':
      return content.text
    case 'terminal':
      return content.output
    case 'diff':
      return content.patch ?? `diff of ${content.path}`
    case 'resource':
      return content.text ?? content.uri
    case 'image':
      return `image ${content.mimeType}`
  }
}
