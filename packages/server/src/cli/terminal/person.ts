import type { Client } from '@parley/client'
import { type Answers, type OpenRequest, ParleyError, type Question } from '@parley/protocol'
import {
  choiceLines,
  type OpenPermission,
  permissionLines,
  questionLines,
  questionPrompt,
  readAnswer,
  readChoice,
} from './request-lines.ts'
import type { Keyboard, Screen } from './screen.ts'
import type { Style } from './style.ts'

/** Answers requests of an agent: the person at this terminal, or a policy if nobody is there. */
export type Answerer = {
  requested(requestId: string): void
  /** The request was resolved, here or elsewhere. */
  resolved(requestId: string, outcome: string): void
  /** The server was lost and is back: open requests must be asked again. */
  reconnected(): void
}

export type PersonOptions = {
  readonly client: Client
  readonly sessionId: string
  readonly screen: Screen
  readonly style: Style
  /** Called when the person ends the input instead of answering. */
  readonly onEnd: () => void
}

/** Asks one request at a time, in order. A request that is answered elsewhere is withdrawn. */
export function createPerson(options: PersonOptions): Answerer {
  const { client, sessionId, screen, style } = options
  const queue: string[] = []
  const open = new Set<string>()
  const settled = new Map<string, string>()
  let current: { readonly requestId: string; readonly controller: AbortController; sent: boolean } | undefined

  async function next(): Promise<void> {
    const requestId = queue.shift()
    if (requestId === undefined) return
    const controller = new AbortController()
    current = { requestId, controller, sent: false }
    try {
      await askFor(requestId, controller.signal)
    } catch (thrown) {
      if (thrown === again) queue.unshift(requestId)
      else if (thrown !== gone) screen.say(style.red(`parley: ${(thrown as Error).message}`))
    } finally {
      current = undefined
    }
    return next()
  }

  /** Checks the server's state first: a rule or the mode may have decided at the same time. */
  async function askFor(requestId: string, signal: AbortSignal): Promise<void> {
    if (settled.has(requestId)) return
    const state = await client.call('getSession', { params: { id: sessionId }, query: { tail: 0 } })
    const request = state.requests.find((open) => open.requestId === requestId)
    if (!request || settled.has(requestId)) return
    const send = await screen.ask(async (keyboard) => {
      try {
        return await answerTo(request, state.cwd, { keyboard, signal })
      } catch (thrown) {
        const outcome = settled.get(requestId)
        if (outcome !== undefined && outcome !== 'cancelled') screen.say(style.dim('answered elsewhere'))
        throw thrown
      }
    })
    if (!send) return options.onEnd()
    if (current) current.sent = true
    try {
      await send()
    } catch (thrown) {
      if (!(thrown instanceof ParleyError)) throw thrown
      if (thrown.code === 'conflict') return screen.say(style.dim('answered elsewhere'))
      if (thrown.code !== 'forbidden') throw thrown
      // A rule forbids it: another answer is possible.
      screen.say(style.yellow(thrown.message))
      throw again
    }
  }

  function answerTo(
    request: OpenRequest,
    cwd: string,
    at: { keyboard: Keyboard; signal: AbortSignal },
  ): Promise<(() => Promise<unknown>) | undefined> {
    return request.type === 'permission' ? decision(request, cwd, at) : answers(request, at)
  }

  async function decision(
    request: OpenPermission,
    cwd: string,
    { keyboard, signal }: { keyboard: Keyboard; signal: AbortSignal },
  ) {
    const choices = request.options
    await keyboard.draw([...permissionLines(request, cwd, style), ...choiceLines(choices, request, style)])
    for (;;) {
      const line = await keyboard.line(`Your choice, 1 to ${choices.length}: `, signal)
      if (line === undefined) return undefined
      const choice = readChoice(line, choices)
      if (!choice) {
        screen.say(style.yellow(`Type a number from 1 to ${choices.length}, or y or n.`))
        continue
      }
      const { decision: word, scope } = choice.option
      const message = choice.message === undefined ? {} : { message: choice.message }
      return () => client.decide(sessionId, request.requestId, word, { scope, ...message })
    }
  }

  async function answers(
    request: Extract<OpenRequest, { type: 'question' }>,
    { keyboard, signal }: { keyboard: Keyboard; signal: AbortSignal },
  ) {
    const given: Answers = {}
    for (const question of request.questions) {
      const answer = await answerOne(question, keyboard, signal)
      if (answer === undefined) return undefined
      given[question.id] = answer
    }
    return () => client.answer(sessionId, request.requestId, given)
  }

  async function answerOne(question: Question, keyboard: Keyboard, signal: AbortSignal) {
    await keyboard.draw(questionLines(question, style))
    for (;;) {
      const line = await keyboard.line(questionPrompt(question), signal)
      if (line === undefined) return undefined
      const answer = readAnswer(line, question)
      if (answer !== undefined) return answer
      screen.say(style.yellow(`Answer with ${questionPrompt(question).replace(/: $/, '.')}`))
    }
  }

  return {
    requested(requestId) {
      open.add(requestId)
      queue.push(requestId)
      if (!current) void next()
    },
    reconnected() {
      const isKnown = (requestId: string) => queue.includes(requestId) || current?.requestId === requestId
      queue.push(...[...open].filter((requestId) => !isKnown(requestId)))
      if (!current) void next()
      else if (!current.sent) current.controller.abort(again)
    },
    resolved(requestId, outcome) {
      open.delete(requestId)
      settled.set(requestId, outcome)
      if (current?.requestId === requestId && !current.sent) current.controller.abort(gone)
    },
  }
}

const gone = Symbol('no longer asked')
const again = Symbol('to be asked again')
