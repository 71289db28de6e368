import { hasCode, ParleyError, type SessionState } from '@parley/protocol'
import type { SessionContext } from './session-services.ts'

/** The delay before the command is sent again, if it has failed. The delay is doubled with each failure. */
const retryMs = 2_000
const longestRetryMs = 60_000

/**
 * Completes the pick of one attempt: sends `attempt.pass-over` to the other attempts, then records that all of them
 * have recorded it. The remaining steps follow from the log, so a restart continues them.
 */
export class PickSteps {
  readonly #context: SessionContext
  #passing: Promise<void> | undefined
  #stopTimer: (() => void) | undefined
  #nextRetryMs = retryMs

  constructor(context: SessionContext) {
    this.#context = context
  }

  get busy(): boolean {
    return this.#passing !== undefined || this.#stopTimer !== undefined
  }

  /** Passes the other attempts over if the state requires it. Called after the recovery and after each batch of events. */
  wake(): void {
    const { stopping, problem } = this.#context
    if (stopping.aborted || this.busy || !isDue(this.#context.log.state)) return
    this.#passing = this.#passOthersOver()
      .catch((error: unknown) => {
        if (!stopping.aborted) problem(error, 'pass over the other attempts of a round')
      })
      .finally(() => {
        this.#passing = undefined
        if (isDue(this.#context.log.state)) this.#retryLater()
        else this.#nextRetryMs = retryMs
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
    this.#stopTimer = services.clock.after(this.#nextRetryMs, retry, { background: true })
    this.#nextRetryMs = Math.min(this.#nextRetryMs * 2, longestRetryMs)
  }

  async #passOthersOver(): Promise<void> {
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

/** Ignores the error if the session was deleted, or if this pick is no longer valid. */
function unlessOver(error: unknown, state: SessionState, number: number): void {
  const isOver = error instanceof ParleyError && !isDue(state, number)
  if (!isOver && !hasCode(error, 'not_found')) throw error
}
