import { useSyncExternalStore } from 'react'
import { client } from './client.ts'

/** Everything that waits for a person, in all sessions: one list for the whole page. */
export const waiting = client.waiting()

export function useWaiting() {
  return useSyncExternalStore(waiting.subscribe, waiting.getSnapshot)
}
