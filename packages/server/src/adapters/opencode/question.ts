import type { QuestionInfo, QuestionRequest } from '@opencode-ai/sdk/v2/client'
import type { Question } from '@parley/protocol'
import type { PermissionContext } from './permission.ts'
import { callKey } from './translate-state.ts'

export type QuestionContext = Pick<
  PermissionContext,
  'person' | 'client' | 'recordedCall' | 'isOver' | 'problem'
>

/** Passes OpenCode's questions to the person and the answers back. */
export class QuestionRequests {
  readonly #context: QuestionContext
  readonly #withdrawals = new Map<string, AbortController>()
  /** Answers that were sent. If OpenCode asks again, the same answer is sent again. */
  readonly #answers = new Map<string, string[][]>()

  constructor(context: QuestionContext) {
    this.#context = context
  }

  async ask(native: QuestionRequest): Promise<void> {
    const { recordedCall, person, isOver } = this.#context
    if (this.#withdrawals.has(native.id)) return
    const answered = this.#answers.get(native.id)
    if (answered) return this.#reply(native.id, answered)
    const withdrawn = new AbortController()
    this.#withdrawals.set(native.id, withdrawn)
    const call = native.tool && (await recordedCall(callKey(native.tool)))
    const isOpen = () => this.#withdrawals.get(native.id) === withdrawn
    if (!isOpen()) return
    const { toolCallId, parentToolCallId } = call ?? {}
    const ask = {
      ...(toolCallId !== undefined && { toolCallId }),
      ...(parentToolCallId !== undefined && { parentToolCallId }),
      questions: native.questions.map(question),
    }
    const answer = await person.answer(ask, withdrawn.signal)
    if (!isOpen()) return
    if (answer.outcome === 'cancelled') return isOver() ? undefined : this.#reject(native.id)
    this.#withdrawals.delete(native.id)
    const answers = native.questions.map((_, index) => [answer.answers[idOf(index)] ?? []].flat())
    await this.#reply(native.id, answers)
  }

  /** Called when a question was answered, by us or another client: nobody needs to be asked any more. */
  settle(requestId: string): void {
    this.#withdrawals.get(requestId)?.abort()
    this.#withdrawals.delete(requestId)
  }

  /**
   * Called after events were missed, with the questions that wait in OpenCode now. Settles the questions that no longer
   * wait, and asks new ones.
   */
  reconcile(waiting: readonly QuestionRequest[]): void {
    const ids = new Set(waiting.map(({ id }) => id))
    for (const id of this.#withdrawals.keys()) if (!ids.has(id)) this.settle(id)
    for (const native of waiting) void this.ask(native)
  }

  async rejectAll(): Promise<void> {
    await Promise.all([...this.#withdrawals.keys()].map((id) => this.#reject(id)))
  }

  /**
   * Called when another turn begins: rejects the questions that came while the last turn was being stopped.
   */
  async clear(): Promise<void> {
    this.#answers.clear()
    await this.rejectAll()
  }

  #reply(requestID: string, answers: string[][]): Promise<void> {
    this.#answers.set(requestID, answers)
    return this.#answered(this.#context.client.question.reply({ requestID, answers }))
  }

  #reject(requestID: string): Promise<void> {
    this.#withdrawals.delete(requestID)
    return this.#answered(this.#context.client.question.reject({ requestID }))
  }

  /**
   * Waits for the response to an answer and reports a failure. A question that OpenCode no longer knows (404)
   * needs no answer.
   */
  async #answered(reply: PromiseLike<{ error?: unknown; response?: { status: number } }>): Promise<void> {
    try {
      const { error, response } = await reply
      if (error && response?.status !== 404) this.#context.problem('accept an answer', error)
    } catch (error) {
      this.#context.problem('accept an answer', error)
    }
  }
}

function question(native: QuestionInfo, index: number): Question {
  return {
    id: idOf(index),
    header: native.header,
    text: native.question,
    options: native.options.map(({ label, description }) => ({
      label,
      ...(description ? { description } : {}),
    })),
    multiple: native.multiple === true,
    freeText: native.custom !== false,
  }
}

function idOf(index: number): string {
  return String(index + 1)
}
