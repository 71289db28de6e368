import { createStore } from '../page/store.ts'

/** The file that somebody wants to see, and how often that was asked for. */
export const jump = createStore({ path: '', count: 0 })

export function jumpTo(path: string): void {
  jump.set(({ count }) => ({ path, count: count + 1 }))
}
