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
import { visible } from './visible.ts'

/** Gets the answers to requests of an agent: from the person at this terminal, or from a policy if nobody is there. */
export type Answerer = {
  requested(requestId: string): void
  /** The request was resolved, here or elsewhere. */
  resolved(requestId: string, outcome: string): void
  /** The connection to the server was lost and is restored. Open requests must be asked again. */
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
export class TerminalPerson implements Answerer {
  readonly #options: PersonOptions
  readonly #queue: string[] = []
  readonly #open = new Set<string>()
  readonly #outcomes = new Map<string, string>()
  #current: { readonly requestId: string; readonly controller: AbortController; sent: boolean } | undefined

  constructor(options: PersonOptions) {
    this.#options = options
  }

  requested(requestId: string): void {
    this.#open.add(requestId)
    this.#queue.push(requestId)
    if (!this.#current) void this.#next()
  }

  reconnected(): void {
    const isAsked = (requestId: string) =>
      this.#queue.includes(requestId) || this.#current?.requestId === requestId
    this.#queue.push(...[...this.#open].filter((requestId) => !isAsked(requestId)))
    if (!this.#current) void this.#next()
    else if (!this.#current.sent) this.#current.controller.abort(again)
  }

  resolved(requestId: string, outcome: string): void {
    this.#open.delete(requestId)
    this.#outcomes.set(requestId, outcome)
    if (this.#current?.requestId === requestId && !this.#current.sent) this.#current.controller.abort(gone)
  }

  async #next(): Promise<void> {
    const { screen, style } = this.#options
    const requestId = this.#queue.shift()
    if (requestId === undefined) return screen.invite()
    const controller = new AbortController()
    this.#current = { requestId, controller, sent: false }
    try {
      await this.#ask(requestId, controller.signal)
    } catch (thrown) {
      if (thrown === again) this.#queue.unshift(requestId)
      else if (thrown !== gone) screen.say(style.red(visible(`parley: ${(thrown as Error).message}`)))
    } finally {
      this.#current = undefined
    }
    return this.#next()
  }

  /** Asks the person, unless the server's state shows that a rule or the mode has decided. */
  async #ask(requestId: string, signal: AbortSignal): Promise<void> {
    const { client, sessionId, screen, style, onEnd } = this.#options
    if (this.#outcomes.has(requestId)) return
    const state = await client.call('getSession', { params: { id: sessionId }, query: { tail: 0 } })
    const request = state.requests.find((open) => open.requestId === requestId)
    if (!request || this.#outcomes.has(requestId)) return
    const send = await screen.ask(async (keyboard) => {
      try {
        return await this.#answer(request, state.cwd, { keyboard, signal, screen, style })
      } catch (thrown) {
        const outcome = this.#outcomes.get(requestId)
        if (outcome !== undefined && outcome !== 'cancelled') screen.say(style.dim('answered elsewhere'))
        throw thrown
      }
    })
    if (!send) return onEnd()
    if (this.#current) this.#current.sent = true
    try {
      await send()
    } catch (thrown) {
      if (!(thrown instanceof ParleyError)) throw thrown
      if (thrown.code === 'conflict') return screen.say(style.dim('answered elsewhere'))
      if (thrown.code !== 'forbidden') throw thrown
      // A rule forbids this answer. Another answer may be possible, so the person is asked again.
      screen.say(style.yellow(visible(thrown.message)))
      throw again
    }
  }

  /** Returns a function that sends the answer, or undefined if the person ended the input. */
  async #answer(
    request: OpenRequest,
    cwd: string,
    dialog: Dialog,
  ): Promise<(() => Promise<unknown>) | undefined> {
    const { client, sessionId } = this.#options
    const { requestId } = request
    if (request.type === 'question') {
      const answers = await askQuestions(request.questions, dialog)
      return answers && (() => client.answer(sessionId, requestId, answers))
    }
    const choice = await askPermission(request, cwd, dialog)
    if (!choice) return undefined
    const { decision, scope } = choice.option
    const message = choice.message === undefined ? {} : { message: choice.message }
    return () => client.decide(sessionId, requestId, decision, { scope, ...message })
  }
}

type Dialog = {
  readonly keyboard: Keyboard
  readonly signal: AbortSignal
  readonly screen: Screen
  readonly style: Style
}

async function askPermission(request: OpenPermission, cwd: string, dialog: Dialog) {
  const { keyboard, signal, screen, style } = dialog
  const choices = request.options
  await keyboard.draw([...permissionLines(request, cwd, style), ...choiceLines(choices, request, style)])
  for (;;) {
    const line = await keyboard.line(`Your choice, 1 to ${choices.length}: `, signal)
    if (line === undefined) return undefined
    const choice = readChoice(line, choices)
    if (choice) return choice
    screen.say(style.yellow(`Type a number from 1 to ${choices.length}, or y or n.`))
  }
}

async function askQuestions(questions: readonly Question[], dialog: Dialog): Promise<Answers | undefined> {
  const given: Answers = {}
  for (const question of questions) {
    const answer = await askQuestion(question, dialog)
    if (answer === undefined) return undefined
    given[question.id] = answer
  }
  return given
}

async function askQuestion(question: Question, { keyboard, signal, screen, style }: Dialog) {
  await keyboard.draw(questionLines(question, style))
  for (;;) {
    const line = await keyboard.line(questionPrompt(question), signal)
    if (line === undefined) return undefined
    const answer = readAnswer(line, question)
    if (answer !== undefined) return answer
    screen.say(style.yellow(`Answer with ${questionPrompt(question).replace(/: $/, '.')}`))
  }
}

const gone = Symbol('no longer asked')
const again = Symbol('to be asked again')
