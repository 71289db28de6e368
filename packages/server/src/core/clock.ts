import type { IdPrefix } from '@parley/protocol'

/** Core has no clock of its own: the creator of a host passes one, so that a test can control the time. */
export type Clock = {
  now(): number
  /**
   * Calls `call` once after `ms`; the returned function cancels the timer. With `background`, the timer does not keep
   * the process alive.
   */
  after(ms: number, call: () => void, how?: { background: true }): () => void
  /** Calls `call` once, after the current work and before the process waits for new input. */
  soon(call: () => void): void
  /** Resolves after other pending input and output was handled. */
  yieldToIo(): Promise<void>
}

export type Ids = (prefix: IdPrefix) => string

/** Runs `work` with a signal that aborts after `ms`. */
export async function withTimeLimit<T>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const abort = () => limit.abort(new DOMException('The operation took too long.', 'TimeoutError'))
  const stopTimer = clock.after(ms, abort, { background: true })
  try {
    return await work(limit.signal)
  } finally {
    stopTimer()
  }
}

/** Resolves when `work` resolves, or after `ms`. Rejects if `work` rejects before that. */
export async function withinTime(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<unknown>,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const stop = clock.after(ms, resolve, { background: true })
  await Promise.race([work, late])
  stop()
}
