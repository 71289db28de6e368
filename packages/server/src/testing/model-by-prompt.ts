import { existsSync } from 'node:fs'
import type { ModelAnswer, ModelRequest, ModelServer } from './model-server.ts'

/**
 * The next answer of the model: a given one, or all text that it has received so far. If `after` names a file, the
 * model waits until the file exists.
 */
export type PromptedAnswer = (ModelAnswer | { readonly say: 'history' }) & { readonly after?: string }

type Message = { readonly role: string; readonly text: string }

const marker = /<<model (.*)>>/s
const maxCalls = 10_000
/** What Claude Code and Gemini insert as an answer of the model when a conversation was interrupted. */
const filler = /^No response requested\.$|^\[The previous response was interrupted/

/**
 * A prompt that contains the answers of the model, call by call. It works across restarts: nothing else is stored.
 */
export function modelPrompt(words: string, ...answers: readonly PromptedAnswer[]): string {
  return `${words} <<model ${JSON.stringify(answers)}>>`
}

/**
 * Makes the model give the answers in the latest prompt. `again` matches a prompt that asks for the last answer once
 * more; by default, the one that is sent after a restart.
 */
export function answerByPrompt(server: ModelServer, again = /Parley was restarted/): void {
  const response = async (request: ModelRequest) => {
    const { after, ...answer } = nextAnswer(messagesOf(bodyOf(server, request)), again)
    const fresh = withFreshIds(answer as ModelAnswer, server.calls.length)
    if (after !== undefined) await appeared(after)
    return fresh
  }
  server.script(
    () => true,
    Array.from({ length: maxCalls }, () => ({ response })),
  )
}

/**
 * The answers in a prompt; if one message contains several prompts, as some agents join them, those of the last. A
 * prompt may contain another one in a string.
 */
function answersIn(text: string): readonly PromptedAnswer[] {
  const end = text.lastIndexOf('>>')
  for (let at = text.indexOf('<<model '); at >= 0; at = text.indexOf('<<model ', at + 1)) {
    try {
      return JSON.parse(text.slice(at + '<<model '.length, end)) as PromptedAnswer[]
    } catch {}
  }
  return []
}

/** Resolves when the file exists. */
async function appeared(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20))
}

function nextAnswer(messages: readonly Message[], again: RegExp): ModelAnswer & { after?: string } {
  const last = messages.findLast(({ role }) => role === 'user')?.text ?? ''
  if (/create a detailed summary/i.test(last)) return { content: '<summary>All that was said.</summary>' }
  // A prompt that is steered into a turn may come in a message of the role `system`.
  const start = messages.findLastIndex(({ role, text }) => role !== 'assistant' && marker.test(text))
  const answers = answersIn(messages[start]?.text ?? '')
  const given = countAnswers(messages.slice(start + 1), answers, again)
  const answer = answers[given] ?? { content: 'There is nothing more to say.' }
  if (!('say' in answer)) return answer
  const received = messages
    .filter(({ role }) => role !== 'assistant')
    .map(({ text }) => text.replace(marker, ''))
  return { content: received.join('\n') }
}

/**
 * The number of given answers that count. When asked again, the model returns to its last call: later answers, which
 * nobody may have received, do not count.
 */
function countAnswers(
  messages: readonly Message[],
  answers: readonly PromptedAnswer[],
  again: RegExp,
): number {
  let given = 0
  let standing = false
  for (const { role, text } of messages) {
    if (role === 'assistant' && !filler.test(text)) {
      given++
      standing = true
    } else if (standing && role === 'user' && again.test(text)) {
      given = Math.max(
        0,
        answers.slice(0, given).findLastIndex((answer) => 'toolCalls' in answer),
      )
      standing = false
    }
  }
  return given
}

/** A call that is asked for again gets a new id, as from a real model. */
function withFreshIds(answer: ModelAnswer, messages: number): ModelAnswer {
  return JSON.parse(
    JSON.stringify(answer).replaceAll('"id":"toolu_', `"id":"toolu_${messages}_`),
  ) as ModelAnswer
}

/** Some agents ask for a title at the same time: a request without tools is another conversation. */
function bodyOf({ calls }: ModelServer, request: ModelRequest): ModelServer['calls'][number]['body'] {
  const hasTools = (list: unknown) => Array.isArray(list) && list.length > 0
  return (
    calls.findLast(
      ({ body }) =>
        body &&
        hasTools(body.tools) === hasTools(request.tools) &&
        isResponsesCall(body, request) &&
        isAbout(body, request),
    )?.body ?? calls.at(-1)?.body
  )
}

/** Several conversations may run at once: each has its own text in its last prompt. */
function isAbout(body: Readonly<Record<string, unknown>>, { messages }: ModelRequest): boolean {
  const texts = messages.map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content ?? ''),
  )
  const words = /([^<>]{1,60})<<model /.exec(texts.findLast((text) => text.includes('<<model ')) ?? '')?.[1]
  return words === undefined || JSON.stringify(body).includes(JSON.stringify(`${words}<<model `).slice(1, -1))
}

type NativeMessage = {
  readonly role?: string
  readonly content?: string | readonly { readonly text?: string }[]
}

/** The conversation as it was sent, not as the server parses it: a steered prompt may be in any message. */
function messagesOf(body: ModelServer['calls'][number]['body']): Message[] {
  if (Array.isArray(body?.contents)) return geminiMessages(body.contents)
  if (Array.isArray(body?.input)) return responsesMessages(body.input)
  return ((body?.messages ?? []) as readonly NativeMessage[]).map(({ role = '', content = '' }) => ({
    role,
    text: typeof content === 'string' ? content : content.flatMap(({ text }) => text ?? []).join('\n'),
  }))
}

type GeminiContent = { readonly role?: string; readonly parts?: readonly { readonly text?: string }[] }

/** Gemini joins consecutive prompts of a person into one message: its parts are read one by one. */
function geminiMessages(contents: readonly GeminiContent[]): Message[] {
  return contents.flatMap(({ role, parts = [] }): Message[] => {
    const texts = parts.map(({ text = '' }) => text)
    if (role === 'model') return [{ role: 'assistant', text: texts.join('\n') }]
    return texts.map((text) => ({ role: 'user', text }))
  })
}

type ResponsesItem = NativeMessage & { readonly type?: string; readonly output?: unknown }

const saidByModel = new Set(['function_call', 'custom_tool_call', 'reasoning'])

/** The Responses API has an item for each part of an answer: consecutive items are one message. */
function responsesMessages(input: readonly ResponsesItem[]): Message[] {
  const messages: Message[] = []
  for (const { type = 'message', role, content = '', output } of input) {
    const text =
      typeof content === 'string' ? content : (content ?? []).map(({ text: words = '' }) => words).join('\n')
    const own = saidByModel.has(type) || role === 'assistant'
    const last = messages.at(-1)
    if (own && last?.role === 'assistant')
      messages[messages.length - 1] = { role: 'assistant', text: last.text + text }
    else if (own) messages.push({ role: 'assistant', text })
    else messages.push({ role: role ?? 'tool', text: text || JSON.stringify(output ?? '') })
  }
  return messages
}

/** A conversation and its subagents may call at once: the last result identifies the body. */
function isResponsesCall({ input }: Readonly<Record<string, unknown>>, { messages }: ModelRequest): boolean {
  if (!Array.isArray(input)) return true
  const id = messages.findLast(({ role }) => role === 'tool')?.tool_call_id
  const outputs = input.filter(({ type }: ResponsesItem) => type === 'function_call_output')
  return id === undefined ? outputs.length === 0 : JSON.stringify(outputs.at(-1) ?? '').includes(id)
}
