import { runningInBackground, type SessionState } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { Limits } from './limits.ts'
import { createTimers } from './timers.ts'

export type BackgroundWatch = {
  /** Must be called after every change of the state. `connected`: the agent's process is connected. */
  update(state: SessionState, connected: boolean): void
  /** Called when a prompt was submitted: restarts the total from zero. */
  reset(): void
  stop(): void
}

/**
 * Limits the work that an agent does without a prompt: tasks whose turn is over, and turns that it started by itself.
 * One limit is on the time without an event while only tasks run. The other is on the total time of such work since
 * the last prompt; the agent cannot postpone this limit. `over` is called when a limit is reached.
 */
export function createBackgroundWatch(options: {
  clock: Clock
  limits: Pick<Limits, 'backgroundMs' | 'backgroundTotalMs'>
  over: () => void
}): BackgroundWatch {
  const { clock, limits, over } = options
  const timers = createTimers<'silence' | 'total'>(clock)
  let lastSeq = -1
  /** The total up to the start of the current work, and the time of that start. */
  let total = 0
  let since: number | undefined

  function count(works: boolean): void {
    if (works === (since !== undefined)) return
    if (since !== undefined) total += clock.now() - since
    since = works ? clock.now() : undefined
    if (works) timers.set('total', limits.backgroundTotalMs - total, over)
    else timers.stop('total')
  }

  function reset(): void {
    const works = since !== undefined
    count(false)
    total = 0
    count(works)
  }

  return {
    update(state, connected) {
      const { turn, seq } = state
      const tasks = connected && runningInBackground(state).length > 0
      const ownTurn = connected && turn?.cause?.by === 'agent' && !turn.parked
      if (!tasks || turn) timers.stop('silence')
      else if (seq !== lastSeq) timers.set('silence', limits.backgroundMs, over)
      lastSeq = seq
      count(turn ? ownTurn : tasks)
      if (turn && turn.cause?.by !== 'agent') total = 0
    },
    reset,
    stop: () => timers.stopAll(),
  }
}
