import { existsSync } from 'node:fs'
import type { ModelAnswer, ModelRequest, ModelServer } from './model-server.ts'

/**
 * The next answer of the model: a given answer, or all text that the model has received so far. If `after` names a
 * file, the model waits until the file exists.
 */
export type PromptedAnswer = (ModelAnswer | History) & { readonly after?: string }
/** `about`: only the lines with these words. */
type History = { readonly say: 'history'; readonly about?: string }

type Message = { readonly role: string; readonly text: string }

const marker = /<<model (.*)>>/s
const maxCalls = 10_000
/**
 * The text that Claude Code and Gemini insert in place of a model answer when a conversation was interrupted.
 */
const filler = /^No response requested\.$|^\[The previous response was interrupted/

/**
 * A prompt that contains the answers of the model, call by call. It works across restarts, since nothing else is
 * stored.
 */
export function modelPrompt(words: string, ...answers: readonly PromptedAnswer[]): string {
  return `${words} <<model ${JSON.stringify(answers)}>>`
}

/**
 * Makes the model give the answers in the latest prompt. `again` matches a prompt that asks for the last answer once
 * more. The default matches the prompt that is sent after a restart.
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
 * Returns the answers that a prompt contains. Some agents join several prompts into one message; then the answers of
 * the last prompt are returned. A prompt may contain another prompt in a string.
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
  const { about } = answer
  const lines = received.join('\n').split('\n')
  return { content: lines.filter((line) => about === undefined || line.includes(about)).join('\n') }
}

/**
 * The number of given answers that count. When asked again, the model returns to the call that the prompt names, or to
 * its last call. Later answers do not count, because they may have been lost.
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
    } else if (role === 'user' && again.test(text)) {
      const named = answers.findLastIndex((answer) => isNamed(answer, text))
      if (named >= 0) given = named
      else if (standing) given = Math.max(0, answers.slice(0, given).findLastIndex(hasCalls))
      standing = false
    }
  }
  return given
}

function hasCalls(answer: PromptedAnswer): answer is Extract<PromptedAnswer, { toolCalls: unknown }> {
  return 'toolCalls' in answer
}

/** True if the text contains the command of a call in this answer. */
function isNamed(answer: PromptedAnswer, text: string): boolean {
  if (!hasCalls(answer)) return false
  return answer.toolCalls.some(({ arguments: input }) => {
    const { command } = JSON.parse(String(input)) as { command?: unknown }
    return typeof command === 'string' && text.includes(command)
  })
}

/** Gives the calls of an answer new ids, as a real model does when it repeats a call. */
function withFreshIds(answer: ModelAnswer, messages: number): ModelAnswer {
  return JSON.parse(
    JSON.stringify(answer).replaceAll('"id":"toolu_', `"id":"toolu_${messages}_`),
  ) as ModelAnswer
}

/**
 * Finds the body of a request. A request without tools belongs to another conversation: some agents ask for a
 * title at the same time.
 */
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

/**
 * True if the body contains the last prompt of the request. Several conversations may run at once, each with
 * its own text in its last prompt.
 */
function isAbout(body: Readonly<Record<string, unknown>>, { messages }: ModelRequest): boolean {
  const texts = messages.map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content ?? ''),
  )
  const words = /([^<>]{1,60})<<model /.exec(texts.findLast((text) => text.includes('<<model ')) ?? '')?.[1]
  return words === undefined || JSON.stringify(body).includes(JSON.stringify(`${words}<<model `).slice(1, -1))
}

type NativeMessage = {
  readonly role?: string
  readonly content?: string | readonly { readonly text?: string }[] | null
}

/**
 * The messages in a request body. They are read from the body itself, not from the messages that the server parsed,
 * because a steered prompt may be in a message of any role.
 */
function messagesOf(body: ModelServer['calls'][number]['body']): Message[] {
  if (Array.isArray(body?.contents)) return geminiMessages(body.contents)
  if (Array.isArray(body?.input)) return responsesMessages(body.input)
  return ((body?.messages ?? []) as readonly NativeMessage[]).map(({ role = '', content }) => ({
    role,
    text:
      typeof content === 'string' ? content : (content ?? []).flatMap(({ text }) => text ?? []).join('\n'),
  }))
}

type GeminiContent = { readonly role?: string; readonly parts?: readonly { readonly text?: string }[] }

/**
 * The messages in a request of Gemini. Gemini joins consecutive prompts into one message, so each part of it
 * is returned as a message.
 */
function geminiMessages(contents: readonly GeminiContent[]): Message[] {
  return contents.flatMap(({ role, parts = [] }): Message[] => {
    const texts = parts.map(({ text = '' }) => text)
    if (role === 'model') return [{ role: 'assistant', text: texts.join('\n') }]
    return texts.map((text) => ({ role: 'user', text }))
  })
}

type ResponsesItem = NativeMessage & { readonly type?: string; readonly output?: unknown }

const saidByModel = new Set(['function_call', 'custom_tool_call', 'reasoning'])

/**
 * The messages in a request to the Responses API. It has an item for each part of an answer; consecutive
 * items of the model are returned as one message.
 */
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

/**
 * True if the body ends with the same tool result as the request. A conversation and its subagents may call the model
 * at once, and the last result distinguishes them.
 */
function isResponsesCall({ input }: Readonly<Record<string, unknown>>, { messages }: ModelRequest): boolean {
  if (!Array.isArray(input)) return true
  const id = messages.findLast(({ role }) => role === 'tool')?.tool_call_id
  const outputs = input.filter(({ type }: ResponsesItem) => type === 'function_call_output')
  return id === undefined ? outputs.length === 0 : JSON.stringify(outputs.at(-1) ?? '').includes(id)
}
