import type { UiChunk } from './ui-chunk.ts'

/**
 * The steps of one response. A step is what the model said at once and the tools it called; a page looks at the last one
 * to know whether it must send an answer.
 */
export class TurnSteps {
  readonly #emit: (chunk: UiChunk) => void
  /** Counts from 1; 0 before the first. */
  current = 0
  #over = false
  #mustLeave = false

  constructor(emit: (chunk: UiChunk) => void) {
    this.#emit = emit
  }

  /** An answered question in the last step makes a page send it again, for ever: another step must follow. */
  get mustLeave(): boolean {
    return this.#mustLeave
  }

  /** Before whatever the model says or calls anew. `stay` if something keeps the step from being left. */
  begin(stay: boolean): void {
    if (this.current === 0 || (this.#over && !stay)) this.next()
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
