import { hasCode, type SessionEvent } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { SessionLog } from './session-log.ts'

/**
 * Records a change that a session makes by itself. While the store is busy, retries until the session stops, because
 * the work of an agent must not be lost. Resolves with undefined if the change could not be recorded; the state is then
 * unchanged.
 */
export type Persist = (change: Parameters<SessionLog['transact']>[0]) => Promise<SessionEvent[] | undefined>

export type Persisting = {
  readonly persist: Persist
  readonly pending: number
}

export function createPersisting(options: {
  log: SessionLog
  clock: Clock
  problem: (error: unknown, doing: string) => void
  /** Once this signal aborts, a failed change is not retried. */
  stopping: AbortSignal
  /** Called when another log has written to this session. This log must not continue. */
  broken: () => void
}): Persisting {
  const { log, clock, problem, stopping, broken } = options
  let pending = 0

  async function persist(change: Parameters<Persist>[0]): ReturnType<Persist> {
    for (let wait = 50; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        return await log.transact(change)
      } catch (error) {
        if (log.closed) return undefined
        problem(error, 'record events of the session')
        if (hasCode(error, 'conflict')) broken()
        if (!hasCode(error, 'busy') || stopping.aborted) return undefined
        await pause(wait)
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        stopTimer()
        stopping.removeEventListener('abort', done)
        resolve()
      }
      const stopTimer = clock.after(ms, done)
      stopping.addEventListener('abort', done, { once: true })
    })
  }

  return {
    async persist(change) {
      pending++
      try {
        return await persist(change)
      } finally {
        pending--
      }
    },
    get pending() {
      return pending
    },
  }
}
