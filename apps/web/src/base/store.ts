import { useSyncExternalStore } from 'react'

/** Page state that is kept outside React. */
export type Store<State> = ReadableStore<State> & {
  set(change: State | ((before: State) => State)): void
}

export type ReadableStore<State> = { get(): State; subscribe(listener: () => void): () => void }

export function createStore<State>(initial: State): Store<State> {
  let state = initial
  const listeners = new Set<() => void>()
  return {
    get: () => state,
    set(change) {
      const next = typeof change === 'function' ? (change as (before: State) => State)(state) : change
      if (Object.is(next, state)) return
      state = next
      for (const listener of [...listeners]) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

export function useStore<State, Part = State>(
  store: ReadableStore<State>,
  selector = (state: State) => state as unknown as Part,
): Part {
  const read = () => selector(store.get())
  return useSyncExternalStore(store.subscribe, read, read)
}
