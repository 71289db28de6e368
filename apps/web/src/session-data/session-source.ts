import type { LiveStore, MirrorSnapshot } from '@parley/client'
import { sharedMirror } from '@parley/client/react'
import { client } from '../base/client.ts'
import { cachedSession, cacheSession, forgetSession } from './cache.ts'
import { maxKept, recordOf } from './cache-record.logic.ts'

/** The first save comes soon after the session opens, in case the connection is lost at once. */
const firstSaveMs = 100
const nextSaveMs = 1500
const sources = new Map<string, LiveStore<MirrorSnapshot>>()

/**
 * A session as the page shows it: first the cached copy, then the server's data, continued from there. It is saved
 * to the cache while it is shown. The first call for an id starts to read the cache.
 */
export function sessionSource(id: string): LiveStore<MirrorSnapshot> {
  const known = sources.get(id)
  if (known) return known
  const made = createSource(id)
  sources.set(id, made)
  return made
}

function createSource(id: string): LiveStore<MirrorSnapshot> {
  let first: ReturnType<typeof cachedSession> | undefined = cachedSession(id)
  const start = () => {
    const kept = first ?? cachedSession(id)
    first = undefined
    return kept
  }
  const mirror = sharedMirror(client, id, { start })
  let timer: ReturnType<typeof setTimeout> | undefined
  let savedSeq = 0
  let subscribers = 0

  function save(): void {
    clearTimeout(timer)
    timer = undefined
    const { status, view, error } = mirror.getSnapshot()
    if (status === 'failed' && error?.code === 'not_found') return forgetSession(id)
    const isTheServers = status === 'live' || status === 'reconnecting'
    const tail = mirror.current?.tail(maxKept)
    if (!isTheServers || !tail || view.state.seq === savedSeq) return
    savedSeq = view.state.seq
    void cacheSession(recordOf(tail, Date.now()))
  }

  return {
    getSnapshot: mirror.getSnapshot,
    subscribe(listener) {
      if (subscribers++ === 0) addEventListener('pagehide', save)
      const stop = mirror.subscribe(() => {
        listener()
        if (mirror.getSnapshot().status === 'reconnecting') save()
        else timer ??= setTimeout(save, savedSeq === 0 ? firstSaveMs : nextSaveMs)
      })
      return () => {
        if (--subscribers === 0) {
          removeEventListener('pagehide', save)
          save()
        }
        stop()
      }
    },
  }
}
