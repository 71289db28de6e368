import { type ErrorCode, type OpenRequest, ParleyError } from '@parley/protocol'
import { errorText } from '../base/error-text.logic.ts'
import type { Route } from '../base/route.logic.ts'
import { type AnswerCommand, requestText, settledText, shownAnswer } from '../call/answer-text.logic.ts'
import { Outbox, type OutboxBrowser, type Resolution } from '../session-data/outbox.ts'
import type { Envelope } from '../session-data/outbox-items.ts'

type AnswerContent = {
  readonly sessionId: string
  /** The answered request. The answer is never applied to another request. */
  readonly requestId: string
  readonly answer: AnswerCommand
  /** The request and the answer, as texts for people. */
  readonly asked: string
  readonly said: string
}

/** An answer that was given in this browser and that the log does not show yet. */
export type GivenAnswer = AnswerContent & Envelope

/** An answer that is accepted within this time is not shown as waiting. */
const lateMs = 700
/**
 * The number of accepted answers that stay in memory, so that a request counts as answered until the log shows its
 * answer.
 */
const keepSent = 50

type Options = OutboxBrowser & {
  readonly send: (answer: GivenAnswer, signal: AbortSignal) => Promise<unknown>
  /** The ids of all open requests; undefined while the server's list is not known. */
  readonly openRequests: () => ReadonlySet<string> | undefined
  /** Shows a message until the person or a call of the returned function dismisses it. Its link opens `place`. */
  readonly tell: (text: string, place: Route) => () => void
  readonly announce: (text: string) => void
}

/** A decision names the input that was shown: the server refuses it for a request with another input. */
function withInputHash(request: OpenRequest, answer: AnswerCommand): AnswerCommand {
  if (request.type !== 'permission' || answer.type !== 'permission.decide') return answer
  return { ...answer, inputHash: request.inputHash }
}

/**
 * The answers that the server has not accepted yet. A message reports every answer that does not take effect.
 */
export class AnswerOutbox extends Outbox<AnswerContent> {
  readonly #options: Options
  /** The functions that dismiss the messages about held answers, by command id. */
  readonly #dismissals = new Map<string, () => void>()

  constructor(options: Options) {
    super({
      ...options,
      name: 'answer',
      isContent: ({ sessionId, requestId, answer }) =>
        Boolean(sessionId && requestId) && answer?.requestId === requestId,
      onRefused: (item, error) => this.#refused(item, error),
      onAbandoned: (item) => this.#abandoned(item),
      late: { ms: lateMs, tell: ({ said }) => options.announce(`Not sent yet: ${said}`) },
      keepSent,
    })
    this.#options = options
  }

  give(sessionId: string, request: OpenRequest, answer: AnswerCommand): void {
    const { requestId } = request
    if (this.isGivenHere(requestId)) return
    const [asked, said] = [requestText(request), shownAnswer(request, answer)]
    this.add({ sessionId, requestId, answer: withInputHash(request, answer), asked, said })
  }

  /**
   * Whether this tab has answered the request. An answer of another tab does not prevent an answer in this tab: the
   * server accepts the first of them.
   */
  isGivenHere(requestId: string): boolean {
    return this.get().some((item) => item.requestId === requestId && item.tab === this.#options.tab())
  }

  override withdraw(commandId: string): void {
    this.#dismiss(commandId)
    super.withdraw(commandId)
  }

  override sendHeld(commandId: string): void {
    this.#dismiss(commandId)
    super.sendHeld(commandId)
  }

  /** Removes held answers whose requests are not open any more. Called when the list of requests changes. */
  removeSettled(): void {
    for (const item of this.get()) {
      if (item.state !== 'held' || !this.#isSettled(item) || this.isSending(item.commandId)) continue
      this.withdraw(item.commandId)
      this.#tellUnused(item, settledMeanwhile)
    }
  }

  #refused(item: GivenAnswer, error: unknown): Resolution {
    const why = finalRefusal(error)
    if (why === undefined) return { hold: errorText(error) }
    this.#tellUnused(item, why)
    return 'remove'
  }

  /**
   * Decides about an answer whose tab was closed. The session may have changed since then, so the person must confirm
   * the answer, unless the request is settled.
   */
  #abandoned(item: GivenAnswer): Resolution {
    if (this.#isSettled(item)) {
      this.#tellUnused(item, settledMeanwhile)
      return 'remove'
    }
    const text = `“${item.said}” was not sent: the tab was closed too early.`
    this.#dismissals.set(item.commandId, this.#options.tell(text, { name: 'inbox' }))
    return { hold: 'The tab was closed too early.' }
  }

  #isSettled({ requestId }: AnswerContent): boolean {
    return this.#options.openRequests()?.has(requestId) === false
  }

  #tellUnused({ asked, said, sessionId }: AnswerContent, why: string): void {
    this.#options.tell(`Your answer to “${asked}” (${said}) was not ${why}`, {
      name: 'session',
      id: sessionId,
    })
  }

  #dismiss(commandId: string): void {
    this.#dismissals.get(commandId)?.()
    this.#dismissals.delete(commandId)
  }
}

const settledMeanwhile = 'sent, and the request is no longer open.'
const finalCodes: readonly ErrorCode[] = ['validation_error', 'not_supported', 'too_large', 'forbidden']

/** The reason why an answer can never be accepted, as the end of a sentence; undefined if it may be accepted later. */
function finalRefusal(error: unknown): string | undefined {
  if (!(error instanceof ParleyError)) return undefined
  const { code, details } = error
  if (code === 'conflict' || code === 'not_found') return `used: ${settledText(details?.outcome)}.`
  return finalCodes.includes(code) ? `accepted. ${errorText(error)}` : undefined
}
