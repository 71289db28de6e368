/** Time is passed in, so that a test can control it. */
export type Clock = {
  now(): number
  /** Calls once after `ms`; the returned function cancels it. */
  after(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}
