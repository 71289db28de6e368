import type { ModelAnswer, ModelRequest, ModelServer } from './model-server.ts'

/** What the model says next: an answer, or all that people said so far. */
export type PromptedAnswer = ModelAnswer | { readonly say: 'history' }

const marker = /<<model (.*?)>>/s
const mostCalls = 1_000

/** A prompt that carries what the model will answer, call by call. It holds across restarts: nothing else is kept. */
export function modelPrompt(words: string, ...answers: readonly PromptedAnswer[]): string {
  return `${words} <<model ${JSON.stringify(answers)}>>`
}

/**
 * Makes the model answer what the latest prompt carries. `again` marks a prompt that asks for the last answer once
 * more, as after a restart.
 */
export function answerByPrompt(server: ModelServer, again: RegExp): void {
  const response = (request: ModelRequest) => nextAnswer(request, again)
  server.script(
    () => true,
    Array.from({ length: mostCalls }, () => ({ response })),
  )
}

function nextAnswer({ messages }: ModelRequest, again: RegExp): ModelAnswer {
  const last = textOf(messages.findLast(({ role }) => role === 'user'))
  if (/create a detailed summary/i.test(last)) return { content: '<summary>All that was said.</summary>' }
  const start = messages.findLastIndex((message) => message.role === 'user' && marker.test(textOf(message)))
  const answers = JSON.parse(marker.exec(textOf(messages[start]))?.[1] ?? '[]') as PromptedAnswer[]
  const given = countAnswers(messages.slice(start + 1), again)
  const answer = answers[given] ?? { content: 'There is nothing more to say.' }
  if (!('say' in answer)) return withFreshIds(answer, messages.length)
  const said = messages
    .filter(({ role }) => role === 'user')
    .map((message) => textOf(message).replace(marker, ''))
  return { content: said.join('\n') }
}

/** How many answers were given and stand: one that was asked for again does not, if it was ever kept. */
function countAnswers(messages: ModelRequest['messages'], again: RegExp): number {
  let given = 0
  let standing = false
  for (const message of messages) {
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
