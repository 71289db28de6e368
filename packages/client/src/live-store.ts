import { createListeners } from './listeners.ts'

/** A store for useSyncExternalStore: the snapshot keeps its identity until something changes. */
export type LiveStore<Snapshot> = {
  readonly subscribe: (listener: () => void) => () => void
  readonly getSnapshot: () => Snapshot
}

/** Calls `flush` soon; the returned function cancels it. */
export type Schedule = (flush: () => void) => () => void

export type BatchedStore<Snapshot> = LiveStore<Snapshot> & {
  /** Reports a change: the next snapshot is made soon. Pass `later` while many changes arrive. */
  touch(when?: 'soon' | 'later'): void
  flush(): void
}

const laterMs = 50

/** Combines many changes into one snapshot and one notification. */
export function createBatchedStore<Snapshot>(
  make: () => Snapshot,
  schedule: Schedule = nextFrame,
): BatchedStore<Snapshot> {
  const listeners = createListeners<void>()
  let snapshot = make()
  let cancelSoon: (() => void) | undefined
  let cancelLater: (() => void) | undefined

  function flush(): void {
    cancelSoon?.()
    cancelLater?.()
    cancelSoon = cancelLater = undefined
    snapshot = make()
    listeners.notify()
  }

  return {
    subscribe: listeners.add,
    getSnapshot: () => snapshot,
    touch(when = 'soon') {
      if (when === 'soon') cancelSoon ??= schedule(flush)
      else cancelLater ??= afterMs(laterMs)(flush)
    },
    flush,
  }
}

/**
 * Calls `flush` before the next paint in a visible page, after 100 ms in a hidden page, and in a microtask outside a
 * page.
 */
export const nextFrame: Schedule = (flush) => {
  const page = globalThis as { document?: { hidden: boolean } }
  if (!page.document || typeof requestAnimationFrame !== 'function') return nextMicrotask(flush)
  if (page.document.hidden) return afterMs(100)(flush)
  const frame = requestAnimationFrame(flush)
  const cancelTimer = afterMs(200)(flush)
  return () => {
    cancelAnimationFrame(frame)
    cancelTimer()
  }
}

export const nextMicrotask: Schedule = (flush) => {
  let wanted = true
  queueMicrotask(() => {
    if (wanted) flush()
  })
  return () => {
    wanted = false
  }
}

function afterMs(ms: number): Schedule {
  return (flush) => {
    const timer = setTimeout(flush, ms)
    return () => clearTimeout(timer)
  }
}
