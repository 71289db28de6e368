import type { PromptPart } from '@parley/protocol'
import { dataOf } from './file-data.ts'
import { invalidPrompt } from './model-error.ts'
import type { Given } from './read-prompt.ts'
import type { AssistantPart, FilePart, Message, TextPart, UserMessage } from './specification.ts'

/** The caller's last messages as a prompt, followed by Parley's own `words`. */
export function promptParts(messages: readonly UserMessage[], words?: string): PromptPart[] {
  const parts = messages.flatMap(({ content }) =>
    content.map((part): PromptPart => (part.type === 'text' ? textPart(part) : attached(part))),
  )
  return words === undefined ? parts : [...parts, { type: 'text', text: words }]
}

/**
 * The first prompt of a session whose history the agent has not seen: the history, marked as such, then the current
 * messages. The history has one JSON line per message, so that nothing in it can be mistaken for its end.
 */
export function replayParts({ history, asked }: Given, words?: string): PromptPart[] {
  const files: PromptPart[] = []
  const lines = [...history, ...resultsIn(asked)].map((message) => lineOf(message, files))
  const text = [begins, ...lines, asked.type === 'results' ? continuation : ends].join('\n')
  const prompt = asked.type === 'prompt' ? promptParts(asked.messages, words) : []
  const after: PromptPart[] =
    asked.type === 'results' && words !== undefined ? [{ type: 'text', text: words }] : []
  return [{ type: 'text', text }, ...files, ...prompt, ...after]
}

/**
 * The caller's system messages as a part of the prompt, for agents that do not support instructions at their
 * start.
 */
export function instructions(system: string): PromptPart {
  return { type: 'text', text: `[Instructions from the calling program]\n${system}` }
}

const begins =
  '[Earlier in this conversation, as reported by the calling program. It has already happened: read it, do not repeat it. One message per line, as JSON.]'
const ends = '[End of the earlier conversation. The new prompt follows.]'
const continuation =
  '[End of the earlier conversation. Its last lines are the results of tools that were called for you. Continue from there.]'

function resultsIn(asked: Given['asked']): Message[] {
  return asked.type === 'results' ? [{ role: 'tool', content: [...asked.results] }] : []
}

function lineOf(message: Message, files: PromptPart[]): string {
  const { role, content } = message
  if (role === 'system') return JSON.stringify({ role, text: content })
  const said = content.map((part) => jsonOf(part, files))
  return JSON.stringify({ role, said })
}

type AnyPart = AssistantPart | { type: 'tool-approval-response' }

function jsonOf(part: AnyPart, files: PromptPart[]): unknown {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return { thinking: part.text }
    case 'tool-call':
      return { called: part.toolName, id: part.toolCallId, input: part.input }
    case 'tool-result':
      return { resultOf: part.toolName, id: part.toolCallId, output: part.output }
    case 'file': {
      if (part.data instanceof URL) return { file: part.filename, address: part.data.href }
      files.push(attached(part))
      return { file: part.filename, mediaType: part.mediaType, attachment: files.length }
    }
    default:
      return { [part.type]: true }
  }
}

const textPart = ({ text }: TextPart): PromptPart => ({ type: 'text', text })

function attached({ mediaType, data, filename }: FilePart): PromptPart {
  if (data instanceof URL) {
    throw invalidPrompt(
      `The file ${data.href} was not loaded. Give its content instead of its address.`,
      data,
    )
  }
  const base64 = dataOf(data)
  if (mediaType.startsWith('image/')) {
    const mimeType = mediaType === 'image/*' ? 'image/png' : mediaType
    return { type: 'image', mimeType, data: base64, ...(filename !== undefined && { name: filename }) }
  }
  const name = filename ?? `file.${mediaType.split('/')[1] ?? 'bin'}`
  if (!mediaType.startsWith('text/')) return { type: 'file', name, mimeType: mediaType, data: base64 }
  return { type: 'file', name, mimeType: mediaType, text: Buffer.from(base64, 'base64').toString() }
}
