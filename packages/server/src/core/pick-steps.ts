import { hasCode, ParleyError, type SessionState } from '@parley/protocol'
import type { SessionContext } from './session-services.ts'

/** The delay before another attempt of the round is notified of the pick again, after a failure. */
const retryMs = 2_000

/**
 * Completes the pick of one attempt: notifies the other attempts, then records that all of them have been notified. The
 * remaining steps follow from the log, so a restart continues them.
 */
export class PickSteps {
  readonly #context: SessionContext
  #telling: Promise<void> | undefined
  #stopTimer: (() => void) | undefined

  constructor(context: SessionContext) {
    this.#context = context
  }

  get busy(): boolean {
    return this.#telling !== undefined || this.#stopTimer !== undefined
  }

  /** Notifies the other attempts if the state requires it. Called after the recovery and after each batch of events. */
  wake(): void {
    const { stopping, problem } = this.#context
    if (stopping.aborted || this.busy || !isDue(this.#context.log.state)) return
    this.#telling = this.#tell()
      .catch((error: unknown) => {
        if (!stopping.aborted) problem(error, 'notify the other attempts of a round that one was picked')
      })
      .finally(() => {
        this.#telling = undefined
        if (isDue(this.#context.log.state)) this.#retryLater()
      })
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }

  #retryLater(): void {
    const { stopping, services } = this.#context
    if (stopping.aborted) return
    const retry = () => {
      this.#stopTimer = undefined
      this.wake()
    }
    this.#stopTimer = services.clock.after(retryMs, retry, { background: true })
  }

  async #tell(): Promise<void> {
    const { services, log, persist } = this.#context
    const { round, id: by } = log.state
    const pick = round?.pick
    if (!round || pick?.state !== 'picked') return
    const { number, actor } = pick
    const { otherAttempts, stateIfThere } = await import('./round-attempts.ts')
    for (const sessionId of otherAttempts(round)) {
      if (!(await stateIfThere(services.store, sessionId))) continue
      const commandId = `pass-over-${by}-${number}`
      await services
        .command(sessionId, { type: 'attempt.pass-over', commandId, number, by }, actor)
        .catch((error: unknown) => unlessOver(error, log.state, number))
    }
    await persist((state) => ({
      drafts: isDue(state, number) ? [{ type: 'attempt.settled', number }] : [],
    }))
  }
}

function isDue({ round }: SessionState, number = round?.pick?.number): boolean {
  return round?.pick?.state === 'picked' && round.pick.due && round.pick.number === number
}

/**
 * Ignores the error if the session was deleted, or if this pick is no longer valid: in both cases, nobody needs to be
 * notified.
 */
function unlessOver(error: unknown, state: SessionState, number: number): void {
  const isOver = error instanceof ParleyError && !isDue(state, number)
  if (!isOver && !hasCode(error, 'not_found')) throw error
}
