import { createStore, useStore } from './store.ts'

const now = createStore(Date.now())
setInterval(() => document.hidden || now.set(Date.now()), 20_000)
addEventListener('visibilitychange', () => document.hidden || now.set(Date.now()))

/** The time, for "5 min ago": moves now and then, together for the whole page. */
export function useNow(): number {
  return useStore(now)
}
