import type { Clock } from './clock.ts'

/** Background timers by name. Setting a timer again replaces it. */
export function createTimers<Name extends string>(clock: Clock) {
  const running = new Map<Name, () => void>()
  const stop = (name: Name) => {
    running.get(name)?.()
    running.delete(name)
  }
  return {
    set(name: Name, ms: number, call: () => void): void {
      stop(name)
      running.set(name, clock.after(Math.max(0, ms), call, { background: true }))
    },
    stop,
    stopAll(): void {
      for (const name of [...running.keys()]) stop(name)
    },
  }
}
