import { ParleyError, type SessionEvent } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { SessionLog } from './session-log.ts'

/**
 * Records what a session does by itself. While the store is busy it retries, because what an agent did must not be
 * lost; it stops retrying when the session stops. Undefined: it could not be recorded, and nothing has happened.
 */
export type Persist = (plan: Parameters<SessionLog['transact']>[0]) => Promise<SessionEvent[] | undefined>

export type Persisting = {
  readonly persist: Persist
  /** How many plans wait to be recorded. */
  readonly pending: number
  /** From now on every plan is tried once. */
  stop(): void
}

export function createPersisting(options: {
  log: SessionLog
  clock: Clock
  problem: (error: unknown, doing: string) => void
  /** Another log has written to this session: this one must not continue. */
  broken: () => void
}): Persisting {
  const { log, clock, problem, broken } = options
  const stopped = new AbortController()
  let pending = 0

  async function persist(plan: Parameters<Persist>[0]): ReturnType<Persist> {
    for (let wait = 50; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        return await log.transact(plan)
      } catch (error) {
        if (log.closed) return undefined
        problem(error, 'record what happened')
        if (isConflict(error)) broken()
        if (!isBusy(error) || stopped.signal.aborted) return undefined
        await pause(wait)
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        takeBack()
        stopped.signal.removeEventListener('abort', done)
        resolve()
      }
      const takeBack = clock.after(ms, done)
      stopped.signal.addEventListener('abort', done, { once: true })
    })
  }

  return {
    async persist(plan) {
      pending++
      try {
        return await persist(plan)
      } finally {
        pending--
      }
    },
    get pending() {
      return pending
    },
    stop: () => stopped.abort(),
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof ParleyError && error.code === 'busy'
}

function isConflict(error: unknown): boolean {
  return error instanceof ParleyError && error.code === 'conflict'
}
