import type { LiveStore, SessionListSnapshot } from '@parley/client'
import { useSyncExternalStore } from 'react'
import { client } from '../base/client.ts'
import { createOnFirstUse } from '../base/on-first-use.ts'
import { createStore, useStore } from '../base/store.ts'
import { cachedList, cacheList } from './cache.ts'

/**
 * The number of sessions that are loaded at once: enough for several projects, because the sessions of one
 * busy project would fill a shorter list.
 */
export const listedAtOnce = 200

/** The sessions that are not archived. The tab title, the palette and the keys share this list. */
export const sessions: LiveStore<SessionListSnapshot> = createOnFirstUse(() =>
  client.sessions({ limit: listedAtOnce }),
)

export function useAllSessions() {
  return useSyncExternalStore(sessions.subscribe, sessions.getSnapshot)
}

/** The cached list, shown until the server answers. */
const cached = createStore<Awaited<ReturnType<typeof cachedList>>>([])
export const useCachedSessions = () => useStore(cached)

/** Reads the cached list, and stores the list in this browser whenever it changes. */
export function cacheSessionList(): void {
  void cachedList().then(cached.set)
  let isScheduled = false
  sessions.subscribe(() => {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => {
      isScheduled = false
      const snapshot = sessions.getSnapshot()
      if (snapshot.status === 'live') cacheList(snapshot.sessions)
    }, 1500)
  })
}
