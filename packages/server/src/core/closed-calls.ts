const maxClosed = 1000

/** The latest calls, by id, that ended with their turn or task, or will end when their parked turn is resumed. */
export class ClosedCalls {
  readonly #titles = new Map<string, string | undefined>()
  #hasForgotten = false

  /** True if earlier calls were forgotten: then the result of an unknown call may belong to one of them. */
  get hasForgotten(): boolean {
    return this.#hasForgotten
  }

  has(toolCallId: string): boolean {
    return this.#titles.has(toolCallId)
  }

  /** The title of a closed call; undefined once the log has the agent's own result. */
  title(toolCallId: string): string | undefined {
    return this.#titles.get(toolCallId)
  }

  /** Adds a call, and forgets the oldest one if there are too many. */
  close(toolCallId: string, title: string | undefined): void {
    this.#titles.delete(toolCallId)
    this.#titles.set(toolCallId, title)
    if (this.#titles.size <= maxClosed) return
    const [oldest = ''] = this.#titles.keys()
    this.#titles.delete(oldest)
    this.#hasForgotten = true
  }

  /** Removes a call that the agent makes again: the agent will report a result of its own. */
  reopen(toolCallId: string): void {
    this.#titles.delete(toolCallId)
  }
}
