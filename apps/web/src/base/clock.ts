import { createStore, useStore } from './store.ts'

const now = createStore(Date.now())
setInterval(() => document.hidden || now.set(Date.now()), 20_000)
addEventListener('visibilitychange', () => document.hidden || now.set(Date.now()))

/** The current time for relative times such as "5 min ago". It advances at intervals, for the whole page at once. */
export function useNow(): number {
  return useStore(now)
}
