import type { UiChunk } from './ui-chunk.ts'

/**
 * The steps of one response. A step is one output of the model and the tool calls in it. A page looks at the last step
 * to decide whether to send an answer.
 */
export class TurnSteps {
  readonly #emit: (chunk: UiChunk) => void
  /** The number of the current step, from 1; 0 before the first step. */
  current = 0
  #over = false
  #mustLeave = false

  constructor(emit: (chunk: UiChunk) => void) {
    this.#emit = emit
  }

  /**
   * True if another step must follow. If the last step contained an answered question, a page would send the answer
   * again and again.
   */
  get mustLeave(): boolean {
    return this.#mustLeave
  }

  /** Called before new output of the model. If `isSameStep` is true, no step begins except the first. */
  begin(isSameStep: boolean): void {
    if (this.current === 0 || (this.#over && !isSameStep)) this.next()
  }

  next(): void {
    if (this.current > 0) this.#emit({ type: 'finish-step' })
    this.#emit({ type: 'start-step' })
    this.current++
    this.#over = false
    this.#mustLeave = false
  }

  resultCame(): void {
    this.#over = true
  }

  answerCame(): void {
    this.#over = true
    this.#mustLeave = true
  }

  end(): void {
    if (this.#mustLeave) this.next()
    if (this.current > 0) this.#emit({ type: 'finish-step' })
  }
}
