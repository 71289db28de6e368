import { newId } from '@parley/protocol'
import type { Clock, Ids } from './core/index.ts'

/** The longest time that setTimeout supports. For a longer time, it fires at once. */
const maxTimeoutMs = 2 ** 31 - 1

/** The clock of the machine, for every host outside of tests. */
export const systemClock: Clock = {
  now: Date.now,
  after(ms, call, how) {
    if (ms === Number.POSITIVE_INFINITY) return () => undefined
    let timer: NodeJS.Timeout
    const wait = (left: number) => {
      const isLast = left <= maxTimeoutMs
      timer = setTimeout(isLast ? call : () => wait(left - maxTimeoutMs), Math.min(left, maxTimeoutMs))
      if (how?.background) timer.unref()
    }
    wait(ms)
    return () => clearTimeout(timer)
  },
  soon: (call) => void setImmediate(call),
  yieldToIo: () => new Promise((resolve) => setImmediate(resolve)),
}

/** Ids that sort by the time at which they were created. */
export const systemIds: Ids = (prefix) => newId(prefix)
