import type { LiveStore, WaitingListSnapshot } from '@parley/client'
import type { WaitingRequest } from '@parley/protocol'
import { useSyncExternalStore } from 'react'
import { client } from '../base/client.ts'
import { createOnFirstUse } from '../base/on-first-use.ts'
import { createStore } from '../base/store.ts'
import { cachedWaiting, cacheWaiting } from './cache.ts'

const live = createOnFirstUse(() => client.waiting())
/** The cached list, shown if the server does not answer after the page is opened. */
const cached = createStore<readonly WaitingRequest[] | undefined>(undefined)

/** The open requests of all sessions: one list for the whole page. */
export const waiting: LiveStore<WaitingListSnapshot> = {
  subscribe(listener) {
    const stops = [live.subscribe(listener), cached.subscribe(listener)]
    return () => {
      for (const stop of stops) stop()
    }
  },
  getSnapshot() {
    const snapshot = live.getSnapshot()
    const requests = cached.get()
    if (snapshot.status !== 'loading' || !requests) return snapshot
    if (last?.snapshot !== snapshot || last.shown.requests !== requests)
      last = { snapshot, shown: { ...snapshot, requests } }
    return last.shown
  },
}
let last: { readonly snapshot: WaitingListSnapshot; readonly shown: WaitingListSnapshot } | undefined

/**
 * The open requests of all sessions. `away`: the server is unreachable, and the list is from its last answer.
 */
export function useWaiting(): WaitingListSnapshot & { readonly away: boolean } {
  const snapshot = useSyncExternalStore(waiting.subscribe, waiting.getSnapshot)
  const { status } = snapshot
  return {
    ...snapshot,
    away: status === 'reconnecting' || (status === 'loading' && cached.get() !== undefined),
  }
}

const forget = client.socket.onStatus(({ state }) => {
  if (state === 'waiting') void cachedWaiting().then(cached.set)
  if (state !== 'connecting') forget()
})

/** Stores the list in this browser whenever it changes. */
export function cacheWaitingList(): void {
  live.subscribe(() => {
    const { status, requests } = live.getSnapshot()
    if (status === 'live') cacheWaiting(requests)
  })
}
