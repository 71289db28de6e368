import { type IdPrefix, newId } from '@parley/protocol'

/** Time and ids are passed in, so that a test can control both. */
export type Clock = {
  now(): number
  /**
   * Calls once after `ms`; the returned function cancels it. With `background`, the timer does not keep the process
   * alive.
   */
  after(ms: number, call: () => void, how?: { background: true }): () => void
  /** Calls once, after the current work and before the process waits for new input. */
  soon(call: () => void): void
  /** Resolves after other pending input and output was handled. */
  breathe(): Promise<void>
}

export type Ids = (prefix: IdPrefix) => string

/** The longest time that setTimeout supports; it fires at once for a longer one. */
const longest = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  after(ms, call, how) {
    if (ms === Number.POSITIVE_INFINITY) return () => undefined
    let timer: NodeJS.Timeout
    const wait = (left: number) => {
      timer = setTimeout(left > longest ? () => wait(left - longest) : call, Math.min(left, longest))
      if (how?.background) timer.unref()
    }
    wait(ms)
    return () => clearTimeout(timer)
  },
  soon: (call) => void setImmediate(call),
  breathe: () => new Promise((resolve) => setImmediate(resolve)),
}

export const randomIds: Ids = (prefix) => newId(prefix)
