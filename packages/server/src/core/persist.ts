import type { SessionEvent } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { SessionLog } from './session-log.ts'

/** Records, trying again while the store fails: what an agent did must not be lost. Undefined once the log is closed. */
export type Persist = (plan: Parameters<SessionLog['transact']>[0]) => Promise<SessionEvent[] | undefined>

export function createPersist(
  log: SessionLog,
  clock: Clock,
  problem: (error: unknown, doing: string) => void,
): Persist {
  return async (plan) => {
    for (let wait = 50; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        return await log.transact(plan)
      } catch (error) {
        if (log.closed) return undefined
        problem(error, 'record what the agent did; trying again')
        await new Promise<void>((resolve) => clock.after(wait, resolve))
      }
    }
  }
}
