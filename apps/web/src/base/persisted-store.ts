import { createStore, type Store } from './store.ts'

/**
 * A store that is saved in local storage and shared by the browser's tabs. If storage is unavailable (a private
 * window, a full disk), the state is lost on reload.
 */
export function createPersistedStore<State extends object>(name: string, initial: State): Store<State> {
  const key = `parley:${name}`
  const store = createStore<State>(read(key, initial))
  addEventListener('storage', (event) => {
    if (event.key === key) store.set(read(key, initial))
  })
  return {
    ...store,
    set(change) {
      store.set(change)
      try {
        localStorage.setItem(key, JSON.stringify(store.get()))
      } catch {}
    },
  }
}

function read<State extends object>(key: string, initial: State): State {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
    return stored && typeof stored === 'object' ? { ...initial, ...stored } : initial
  } catch {
    return initial
  }
}
