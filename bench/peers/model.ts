import { pieces } from '../lib/words.ts'

/** The task for the model in a prompt of the comparison. */
export type Task =
  /** `deltas` pieces of prose at once. */
  | { readonly do: 'write'; readonly deltas: number }
  /** `count` pieces at a steady rate, each with the time it was sent. */
  | { readonly do: 'stamp'; readonly count: number; readonly rate: number }

export function promptFor(task: Task): string {
  return `Go on. <<bench ${JSON.stringify(task)}>>`
}

export const prose = (deltas: number) => pieces(1, deltas)

export function lengthOf(task: Task): number {
  return task.do === 'write' ? prose(task.deltas).join('').length : task.count * 16
}

const mark = /.*<<bench (.*?)>>/s

type Body = {
  readonly tools?: readonly unknown[]
  readonly messages?: readonly { readonly role?: string; readonly content?: unknown }[]
}

/**
 * The task in the last message of the user. A request without a task, or without tools, does not belong to the
 * conversation of the session: some agents ask for titles, suggestions or memories.
 */
export function taskIn({ tools = [], messages = [] }: Body): Task | undefined {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? '').replaceAll('\\"', '"')
  const json = mark.exec(text)?.[1]
  return json === undefined || tools.length === 0 ? undefined : (JSON.parse(json) as Task)
}

/** How a model API writes an answer: before its text, each piece of the text, and after it. */
export type Dialect = {
  before(id: string): string
  delta(text: string): string
  readonly after: string
}

const data = (content: Readonly<Record<string, unknown>>) => `data: ${JSON.stringify(content)}\n\n`

/** The Chat Completions API of OpenAI, which OpenCode and Qwen Code use. */
export const chatCompletions: Dialect = {
  before: (id) => chunk(id, { role: 'assistant', content: '' }),
  delta: (text) => chunk('bench', { content: text }),
  after: `${chunk('bench', {}, 'stop')}${data({
    ...common('bench'),
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  })}data: [DONE]\n\n`,
}

function common(id: string) {
  return { id, object: 'chat.completion.chunk', created: 1, model: 'bench' }
}

function chunk(id: string, delta: object, finish: string | null = null): string {
  return data({ ...common(id), choices: [{ index: 0, delta, finish_reason: finish }] })
}
