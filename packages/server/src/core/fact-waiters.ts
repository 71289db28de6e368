import type { Clock } from './clock.ts'

/** Waits, for a bounded time, until a condition is true. The condition is checked again after every change. */
export function createFactWaiters(clock: Clock) {
  const checks = new Set<() => void>()
  return {
    /** Checks all conditions again. */
    changed(): void {
      for (const check of checks) check()
    },
    until(fact: () => boolean, ms: number): Promise<void> {
      if (fact()) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          stop()
          checks.delete(check)
          resolve()
        }
        const check = () => {
          if (fact()) done()
        }
        const stop = clock.after(ms, done)
        checks.add(check)
      })
    },
  }
}
