/** The delay before the next attempt: exponential, with full jitter so that many clients do not reconnect at once. */
export type Backoff = {
  next(): number
  reset(): void
}

export type BackoffOptions = {
  readonly baseMs?: number
  readonly maxMs?: number
  /** From 0 up to, but not including, 1. */
  readonly random?: () => number
}

export function createBackoff(options: BackoffOptions = {}): Backoff {
  const { baseMs = 250, maxMs = 15_000, random = Math.random } = options
  let tries = 0
  return {
    next() {
      const ceiling = Math.min(maxMs, baseMs * 2 ** tries)
      tries = Math.min(tries + 1, 30)
      return random() * ceiling
    },
    reset() {
      tries = 0
    },
  }
}
