import type { LiveStore, MirrorSnapshot } from '@parley/client'
import { sharedMirror } from '@parley/client/react'
import { cached } from '../base/cached.ts'
import { client } from '../base/client.ts'
import { cachedSession, cacheSession, forgetSession } from './cache.ts'
import { maxCached, recordOf } from './cache-record.logic.ts'

/** The first save comes soon after the session opens, in case the connection is lost at once. */
const firstSaveMs = 100
const nextSaveMs = 1500

/**
 * A session as the page shows it: first the cached copy, then the server's data from the end of that copy. It is
 * saved to the cache while it is shown. The first call for an id starts to read the cache.
 */
export const sessionSource = cached(createSource)

function createSource(id: string): LiveStore<MirrorSnapshot> {
  let first: ReturnType<typeof cachedSession> | undefined = cachedSession(id)
  const start = () => {
    const copy = first ?? cachedSession(id)
    first = undefined
    return copy
  }
  const mirror = sharedMirror(client, id, { start })
  const saved = { seq: 0 }
  let stopSaving: () => void = () => {}
  let subscribers = 0
  return {
    getSnapshot: mirror.getSnapshot,
    subscribe(listener) {
      if (subscribers++ === 0) stopSaving = saveWhileShown(id, mirror, saved)
      const unsubscribe = mirror.subscribe(listener)
      return () => {
        if (--subscribers === 0) stopSaving()
        unsubscribe()
      }
    },
  }
}

type SharedMirror = ReturnType<typeof sharedMirror>

/** Saves the end of the session soon after each change, and at once when the connection is lost or the page is closed. */
function saveWhileShown(id: string, mirror: SharedMirror, saved: { seq: number }): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const save = () => {
    clearTimeout(timer)
    timer = undefined
    const { status, view, error } = mirror.getSnapshot()
    if (status === 'failed' && error?.code === 'not_found') return forgetSession(id)
    const isFromServer = status === 'live' || status === 'reconnecting'
    const tail = mirror.current?.tail(maxCached)
    if (!isFromServer || !tail || view.state.seq === saved.seq) return
    saved.seq = view.state.seq
    void cacheSession(recordOf(tail, Date.now()))
  }
  addEventListener('pagehide', save)
  const unsubscribe = mirror.subscribe(() => {
    if (mirror.getSnapshot().status === 'reconnecting') save()
    else timer ??= setTimeout(save, saved.seq > 0 ? nextSaveMs : firstSaveMs)
  })
  return () => {
    removeEventListener('pagehide', save)
    save()
    unsubscribe()
  }
}
