import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import { catchUp, type Now } from './catch-up.ts'
import { failToBegin } from './translate-turn.ts'

/** How long after an error, or after a gap, a prompt may still be started. */
const takeUpMs = 1_000
/** How often and at what interval missed events are requested. */
const mostAttempts = 25
const againMs = 200

export type WatchContext = {
  readonly client: OpencodeClient
  readonly now: Now
  isOver(): boolean
  problem(doing: string, error: unknown): void
}

/**
 * Watches a turn beside the event stream, for a prompt that is never started and for missed events. Everything that
 * waits here waits for one turn, and does nothing once another has begun or the connection is over.
 */
export class TurnWatch {
  readonly #context: WatchContext
  readonly #timers = new Set<NodeJS.Timeout>()
  #round = 0
  /** The turn that may never start. */
  #doubted: number | undefined

  constructor(context: WatchContext) {
    this.#context = context
  }

  /** The number of the watched turn. */
  get round(): number {
    return this.#round
  }

  /** Another turn begins, or the connection is over. */
  begin(): number {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#round++
    return this.#round
  }

  /** OpenCode may have dropped a prompt without a message. If it does not start it soon, it never will. */
  doubt(): void {
    const { turn } = this.#context.now.state()
    if (!turn || turn.begun || this.#doubted === this.#round) return
    this.#doubted = this.#round
    this.#later(() => {
      if (!this.#context.now.state().turn?.begun) void this.catchUp(true)
    })
  }

  /** An error before the start of the work: if the work does not start, the error is the reason. */
  awaitTakingUp(): void {
    const { turn } = this.#context.now.state()
    if (!turn?.error || turn.begun) return
    this.#later(() => void this.#context.now.give(failToBegin(this.#context.now.state())))
  }

  /** `certain`: the turn that is open now will not start any more, if it has not. */
  async catchUp(certain = false): Promise<void> {
    const { client, now, isOver, problem } = this.#context
    const round = this.#round
    for (let count = 1; !isOver(); count++) {
      if (certain && round !== this.#round) return
      try {
        return await catchUp(client, now, certain)
      } catch (error) {
        if (count === mostAttempts) return problem('say what was missed', error)
        await new Promise((resolve) => setTimeout(resolve, againMs))
      }
    }
  }

  #later(act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (!this.#context.isOver() && this.#context.now.state().turn) act()
    }, takeUpMs)
    this.#timers.add(timer.unref())
  }
}
