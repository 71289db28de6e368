import type { ModelAnswer, ModelServer } from './model-server.ts'

/** What the model says next: an answer, or all that was said to it so far. */
export type PromptedAnswer = ModelAnswer | { readonly say: 'history' }

type Message = { readonly role: string; readonly text: string }

const marker = /<<model (.*)>>/s
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
  const response = () =>
    withFreshIds(nextAnswer(messagesOf(server.calls.at(-1)?.body), again), server.calls.length)
  server.script(
    () => true,
    Array.from({ length: mostCalls }, () => ({ response })),
  )
}

function nextAnswer(messages: readonly Message[], again: RegExp): ModelAnswer {
  const last = messages.findLast(({ role }) => role === 'user')?.text ?? ''
  if (/create a detailed summary/i.test(last)) return { content: '<summary>All that was said.</summary>' }
  const start = messages.findLastIndex(({ role, text }) => role === 'user' && marker.test(text))
  const answers = JSON.parse(marker.exec(messages[start]?.text ?? '')?.[1] ?? '[]') as PromptedAnswer[]
  const given = countAnswers(messages.slice(start + 1), answers, again)
  const answer = answers[given] ?? { content: 'There is nothing more to say.' }
  if (!('say' in answer)) return answer
  const heard = messages
    .filter(({ role }) => role !== 'assistant')
    .map(({ text }) => text.replace(marker, ''))
  return { content: heard.join('\n') }
}

/**
 * How many answers were given and stand. Asked again, the model goes back to its last call: what it may have said
 * meanwhile, to nobody, does not stand.
 */
function countAnswers(
  messages: readonly Message[],
  answers: readonly PromptedAnswer[],
  again: RegExp,
): number {
  let given = 0
  let standing = false
  for (const { role, text } of messages) {
    if (role === 'assistant' && text !== filler) {
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

/** A call that is asked for again comes under a new id, as from a real model. */
function withFreshIds(answer: ModelAnswer, messages: number): ModelAnswer {
  return JSON.parse(
    JSON.stringify(answer).replaceAll('"id":"toolu_', `"id":"toolu_${messages}_`),
  ) as ModelAnswer
}

type NativeMessage = {
  readonly role?: string
  readonly content?: string | readonly { readonly text?: string }[]
}

/** The conversation as it was sent, not as the server reads it: what a person says in mid-turn may be in any message. */
function messagesOf(body: ModelServer['calls'][number]['body']): Message[] {
  return ((body?.messages ?? []) as readonly NativeMessage[]).map(({ role = '', content = '' }) => ({
    role,
    text: typeof content === 'string' ? content : content.flatMap(({ text }) => text ?? []).join('\n'),
  }))
}
