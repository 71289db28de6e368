import { useEffect, useEffectEvent } from 'react'
import { client, useConnection } from '../base/client.ts'
import { usePageVisible } from '../base/effects.ts'

/** The changed files, or folders with everything in them. If undefined, any file may have changed. */
type OnChanged = (paths?: readonly string[]) => void

/** The polling interval if the folder cannot be watched. */
const pollMs = 5000

/** Reports that files in the folder of a session may have changed. A hidden page watches nothing. */
export function useFolderWatch(id: string, onChanged: OnChanged): void {
  const online = useConnection().state === 'open'
  const visible = usePageVisible()
  const report = useEffectEvent(onChanged)
  useEffect(() => {
    if (online && visible) return watch(id, (paths) => report(paths))
    return undefined
  }, [id, online, visible])
}

/**
 * The watches of this page. Parts of the page that show the same folder share a watch, because a browser has
 * few connections.
 */
const watches = new Map<string, { readonly listeners: Set<OnChanged>; readonly stop: () => void }>()

function watch(id: string, onChanged: OnChanged): () => void {
  const known = watches.get(id)
  const listeners = known?.listeners ?? new Set()
  listeners.add(onChanged)
  const report: OnChanged = (paths) => {
    for (const listener of [...listeners]) listener(paths)
  }
  const stop = known?.stop ?? startWatch(id, report)
  watches.set(id, { listeners, stop })
  return () => {
    listeners.delete(onChanged)
    if (listeners.size > 0) return
    watches.delete(id)
    stop()
  }
}

function startWatch(id: string, onChanged: OnChanged): () => void {
  let timer: ReturnType<typeof setInterval> | undefined
  const stop = client.watchChanges(id, {
    onChanged,
    onState(state) {
      if (state === 'watching') {
        clearInterval(timer)
        timer = undefined
      } else timer ??= setInterval(() => onChanged(), pollMs)
      // Changes made before the watch started were not reported.
      if (state === 'watching' || state === 'partial') onChanged()
    },
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}
