import type { LiveStore } from './live-store.ts'

type Closable = { close(): void }

/**
 * A store that exists while it has subscribers: it is created for the first subscriber and closed after the
 * last. It is closed in a later task of the event loop, so that a component that is unmounted and mounted
 * again keeps its data.
 */
export type SharedStore<Snapshot, Store> = LiveStore<Snapshot> & {
  readonly current: Store | undefined
}

export function createSharedStore<Snapshot, Store extends LiveStore<Snapshot> & Closable>(
  make: () => Store,
  initial: Snapshot,
): SharedStore<Snapshot, Store> {
  let store: Store | undefined
  let subscribers = 0

  function leave(): void {
    subscribers--
    setTimeout(() => {
      if (subscribers > 0) return
      store?.close()
      store = undefined
    }, 0)
  }

  return {
    get current() {
      return store
    },
    getSnapshot: () => store?.getSnapshot() ?? initial,
    subscribe(listener) {
      subscribers++
      store ??= make()
      const unsubscribe = store.subscribe(listener)
      let left = false
      return () => {
        if (left) return
        left = true
        unsubscribe()
        leave()
      }
    },
  }
}
