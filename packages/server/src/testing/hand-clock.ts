import type { Clock } from '../core/index.ts'

/** A clock that only the test advances. Calls of `soon` wait for `runSoon`. */
export type HandClock = Clock & {
  /** Advances the time and makes the calls that are due, in order. */
  advance(ms: number): void
  runSoon(): void
  /** The number of pending calls of `after`. */
  readonly waiting: number
}

export function createHandClock(start = 1_000): HandClock {
  let now = start
  const timers = new Set<{ due: number; call: () => void }>()
  let soon: (() => void)[] = []

  return {
    now: () => now,
    after(ms, call) {
      const timer = { due: now + ms, call }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    soon: (call) => void soon.push(call),
    yieldToIo: () => Promise.resolve(),
    advance(ms) {
      const end = now + ms
      for (;;) {
        const [next] = [...timers].filter((timer) => timer.due <= end).sort((a, b) => a.due - b.due)
        if (!next) break
        timers.delete(next)
        now = next.due
        next.call()
      }
      now = end
    },
    runSoon() {
      const calls = soon
      soon = []
      for (const call of calls) call()
    },
    get waiting() {
      return timers.size
    },
  }
}
