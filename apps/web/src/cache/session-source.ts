import type { LiveStore, MirrorSnapshot } from '@parley/client'
import { sharedMirror } from '@parley/client/react'
import { client } from '../page/client.ts'
import { cachedSession, cacheSession, forgetSession } from './cache.ts'
import { recordOf } from './record.logic.ts'

/** Soon after it opened, for whoever goes offline at once; then now and then. */
const firstSaveMs = 100
const nextSaveMs = 1500
const sources = new Map<string, LiveStore<MirrorSnapshot>>()

/**
 * A session as the page shows it: what this browser kept of it first, then the mirror of the server's, which takes its
 * place as soon as it has loaded. Blocks keep their ids, so what is on screen stays where it is.
 */
export function sessionSource(id: string): LiveStore<MirrorSnapshot> {
  const known = sources.get(id)
  if (known) return known
  const made = createSource(id)
  sources.set(id, made)
  return made
}

function createSource(id: string): LiveStore<MirrorSnapshot> {
  const mirror = sharedMirror(client, id)
  const listeners = new Set<() => void>()
  let kept: MirrorSnapshot | undefined
  let asked = false
  let shown: { from: MirrorSnapshot; kept: MirrorSnapshot | undefined; snapshot: MirrorSnapshot } | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let savedSeq = 0

  const tell = () => {
    for (const listener of [...listeners]) listener()
  }

  async function ask(): Promise<void> {
    asked = true
    const record = await cachedSession(id)
    if (!record || mirror.getSnapshot().view.state.seq > 0) return
    const { state, timeline, atStart } = record
    kept = { status: 'loading', view: { state, timeline }, atStart }
    tell()
  }

  function save(): void {
    clearTimeout(timer)
    timer = undefined
    const { status, view, atStart, error } = mirror.getSnapshot()
    if (status === 'failed' && error?.code === 'not_found') return forgetSession(id)
    if ((status !== 'live' && status !== 'reconnecting') || view.state.seq === savedSeq) return
    savedSeq = view.state.seq
    void cacheSession(recordOf({ ...view, atStart, now: Date.now() }))
  }

  function getSnapshot(): MirrorSnapshot {
    const from = mirror.getSnapshot()
    if (shown?.from === from && shown.kept === kept) return shown.snapshot
    const stillOld = kept !== undefined && from.view.state.seq === 0 && from.status !== 'failed'
    const snapshot = stillOld && kept ? { ...from, view: kept.view, atStart: kept.atStart } : from
    shown = { from, kept, snapshot }
    return snapshot
  }

  return {
    getSnapshot,
    subscribe(listener) {
      if (!asked) void ask()
      if (listeners.size === 0) addEventListener('pagehide', save)
      listeners.add(listener)
      const stop = mirror.subscribe(() => {
        listener()
        timer ??= setTimeout(save, savedSeq === 0 ? firstSaveMs : nextSaveMs)
      })
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) {
          removeEventListener('pagehide', save)
          save()
          kept = undefined
          asked = false
        }
        stop()
      }
    },
  }
}
