/** The time source of the client. It is an option, so that a test can control it. */
export type Clock = {
  now(): number
  /** Calls `call` once after `ms`; the returned function cancels it. */
  after(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}
