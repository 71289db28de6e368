/** Time is passed in, so that a test can hold it. */
export type Clock = {
  now(): number
  /** Calls once after `ms`; the function returned takes it back. */
  after(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}
