import { type PromptPart, promptText } from '@parley/protocol'
import type { NativeUserInput } from './native.ts'

export type Skill = { readonly name: string; readonly path: string }

/** Converts a prompt to the input of Codex. Pure. */
export function userInput(parts: readonly PromptPart[], skills: readonly Skill[] = []): NativeUserInput[] {
  return parts.flatMap((part) => inputOf(part, skills))
}

/** True for a prompt that only requests a compaction. */
export function isCompaction(parts: readonly PromptPart[]): boolean {
  const [first, ...rest] = parts
  return first?.type === 'command' && first.name === 'compact' && rest.length === 0
}

function inputOf(part: PromptPart, skills: readonly Skill[]): NativeUserInput[] {
  switch (part.type) {
    case 'text':
      return [text(part.text)]
    case 'command': {
      const skill = skills.find(({ name }) => name === part.name)
      if (!skill) return [text(promptText([part]))]
      const words = `$${skill.name}${part.arguments ? ` ${part.arguments}` : ''}`
      return [{ type: 'skill', ...skill }, text(words)]
    }
    case 'image':
      return [{ type: 'image', url: `data:${part.mimeType};base64,${part.data}` }]
    case 'file':
      return [text(fileText(part))]
  }
}

function fileText(part: Extract<PromptPart, { type: 'file' }>): string {
  if (part.path !== undefined) return `The file ${part.path}`
  const words = part.text ?? Buffer.from(part.data ?? '', 'base64').toString('utf8')
  return `<file name="${part.name.replaceAll('"', "'")}">\n${words}\n</file>`
}

function text(words: string): NativeUserInput {
  return { type: 'text', text: words, text_elements: [] }
}
