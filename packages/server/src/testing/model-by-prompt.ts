import type { ModelAnswer, ModelRequest, ModelServer } from './model-server.ts'

/** What the model says next: an answer, or all that people said so far. */
export type PromptedAnswer = ModelAnswer | { readonly say: 'history' }

const marker = /<<model (.*?)>>/s
const mostCalls = 1_000
/** What Claude Code puts in the model's mouth when a conversation was broken off. */
const filler = 'No response requested.'

/** A prompt that carries what the model will answer, call by call. It holds across restarts: nothing else is kept. */
export function modelPrompt(words: string, ...answers: readonly PromptedAnswer[]): string {
  return `${words} <<model ${JSON.stringify(answers)}>>`
}

/**
 * Makes the model answer what the latest prompt carries. `again` marks a prompt that asks for the last answer once
 * more, as after a restart.
 */
export function answerByPrompt(server: ModelServer, again: RegExp): void {
  const response = (request: ModelRequest) => nextAnswer(request, again, heardIn(server.calls.at(-1)?.body))
  server.script(
    () => true,
    Array.from({ length: mostCalls }, () => ({ response })),
  )
}

function nextAnswer({ messages }: ModelRequest, again: RegExp, heard: readonly string[]): ModelAnswer {
  const last = textOf(messages.findLast(({ role }) => role === 'user'))
  if (/create a detailed summary/i.test(last)) return { content: '<summary>All that was said.</summary>' }
  const start = messages.findLastIndex((message) => message.role === 'user' && marker.test(textOf(message)))
  const answers = JSON.parse(marker.exec(textOf(messages[start]))?.[1] ?? '[]') as PromptedAnswer[]
  const given = countAnswers(messages.slice(start + 1), again)
  const answer = answers[given] ?? { content: 'There is nothing more to say.' }
  if (!('say' in answer)) return withFreshIds(answer, messages.length)
  const said = heard.map((text) => text.replace(marker, ''))
  return { content: said.join('\n') }
}

/** How many answers were given and stand: one that was asked for again does not, if it was ever kept. */
function countAnswers(messages: ModelRequest['messages'], again: RegExp): number {
  let given = 0
  let standing = false
  for (const message of messages) {
    if (message.role === 'assistant' && textOf(message) === filler) continue
    if (message.role === 'assistant') {
      given++
      standing = true
    } else if (standing && message.role === 'user' && again.test(textOf(message))) {
      given--
      standing = false
    }
  }
  return given
}

/** A call that is asked for again comes under a new id, as from a real model. */
function withFreshIds(answer: ModelAnswer, given: number): ModelAnswer {
  return JSON.parse(JSON.stringify(answer).replaceAll('"id":"toolu_', `"id":"toolu_${given}_`)) as ModelAnswer
}

function textOf(message: ModelRequest['messages'][number] | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
}

type NativeMessage = {
  readonly role?: string
  readonly content?: string | readonly { readonly text?: string }[]
}

/** Everything that is not the model's own, as it was sent: what a person says in mid-turn may come as a system message. */
function heardIn(body: ModelServer['calls'][number]['body']): string[] {
  return ((body?.messages ?? []) as readonly NativeMessage[])
    .filter(({ role }) => role !== 'assistant')
    .map(({ content = '' }) =>
      typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('\n'),
    )
}
