import { invalidPrompt } from './model-error.ts'
import type { Message, ToolResultPart, UserMessage } from './specification.ts'

/** The caller's prompt, split into its parts. */
export type Given = {
  readonly system: string
  /** All messages before the new messages. */
  readonly history: readonly Message[]
  readonly asked:
    | { readonly type: 'prompt'; readonly messages: readonly UserMessage[] }
    /** Results of the caller's tools. Their calls are the last message of the history. */
    | { readonly type: 'results'; readonly results: readonly ToolResultPart[] }
}

export function readPrompt(prompt: readonly Message[]): Given {
  const start = prompt.findIndex(({ role }) => role !== 'system')
  if (start < 0) {
    throw invalidPrompt('There is nothing to answer: give a prompt, or messages that end with one.', prompt)
  }
  const system = prompt.slice(0, start).map(({ content }) => content as string)
  const messages = prompt.slice(start)
  const last = messages.at(-1)
  if (last?.role !== 'user' && last?.role !== 'tool') {
    const message = `The last message has the role ${last?.role}. It must be a user message or tool results.`
    throw invalidPrompt(message, prompt)
  }
  const end = messages.findLastIndex(({ role }) => role !== last.role) + 1
  const tail = messages.slice(end)
  const history = messages.slice(0, end)
  const asked = last.role === 'user' ? promptOf(tail) : resultsOf(tail)
  if (!asked) throw invalidPrompt('The last message is empty. Add text or a file.', prompt)
  return { system: system.join('\n\n'), history, asked }
}

function promptOf(tail: readonly Message[]): Given['asked'] | undefined {
  const messages = tail.filter((message) => message.role === 'user')
  const says = messages.some(({ content }) =>
    content.some((part) => part.type !== 'text' || part.text.trim() !== ''),
  )
  return says ? { type: 'prompt', messages } : undefined
}

function resultsOf(tail: readonly Message[]): Given['asked'] | undefined {
  const results = tail.flatMap((message) =>
    message.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [],
  )
  return results.length > 0 ? { type: 'results', results } : undefined
}
