import { type IdPrefix, newId } from '@parley/protocol'

/** Time and ids are passed in, so that a test can hold both. */
export type Clock = {
  now(): number
  /** Calls once after `ms`; the function returned takes it back. In the background it does not keep the process alive. */
  after(ms: number, call: () => void, how?: { background: true }): () => void
  /** Calls once, after what is going on now and before new input is waited for. */
  soon(call: () => void): void
  /** Resolves after other input and output had its turn. */
  breathe(): Promise<void>
}

export type Ids = (prefix: IdPrefix) => string

/** What setTimeout can count; beyond it would fire at once. */
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
