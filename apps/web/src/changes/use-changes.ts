import type { Changes } from '@parley/protocol'
import { startTransition, useEffect, useRef, useState } from 'react'
import { client, useConnection } from '../base/client.ts'
import { usePageVisible, useWindowEvent } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { useSessionId, useSnapshot } from '../session-data/session-context.tsx'
import { type Stamps, stampsAfter } from './stamps.logic.ts'

type Seen = { readonly changes?: Changes; readonly stamps: Stamps; readonly error?: string }

/** The polling interval if the folder cannot be watched. */
const pollMs = 5000

/**
 * The changes in the session's folder. They are read when the panel opens, when files change, when a step ends, when
 * the server is reachable again and when the page becomes visible again. A hidden page watches nothing.
 */
export function useChanges(base: string) {
  const id = useSessionId()
  const [seen, setSeen] = useState<Seen>({ stamps: new Map() })
  const refresh = useRef<(paths?: readonly string[]) => void>(() => {})
  const online = useConnection().state === 'open'
  const visible = usePageVisible()
  useEffect(() => {
    const controller = new AbortController()
    refresh.current = oneAtATime((paths) =>
      fetchChanges({ id, base, paths, signal: controller.signal }, setSeen),
    )
    refresh.current()
    return () => {
      controller.abort()
      refresh.current = () => {}
    }
  }, [id, base])
  useEffect(() => {
    if (online && visible) return watch(id, (paths) => refresh.current(paths))
    return undefined
  }, [id, online, visible])
  const ended = useSnapshot((snapshot) => endedSteps(snapshot.view.timeline))
  const first = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step that ended may have changed something
  useEffect(() => {
    if (first.current) {
      first.current = false
      return undefined
    }
    const timer = setTimeout(() => refresh.current(), 600)
    return () => clearTimeout(timer)
  }, [ended, online])
  useWindowEvent('focus', () => document.hidden || refresh.current())
  return { ...seen, refresh: () => refresh.current() }
}

type Query = { id: string; base: string; paths: readonly string[] | undefined; signal: AbortSignal }

async function fetchChanges(
  { id, base, paths, signal }: Query,
  set: (change: (before: Seen) => Seen) => void,
): Promise<void> {
  try {
    const changes = await client.call('listChanges', { params: { id }, query: { base }, signal })
    // There may be hundreds of files: render them when there is time.
    startTransition(() =>
      set(({ changes: before, stamps }) => {
        const update = { before: before?.files ?? [], after: changes.files, paths }
        return { changes, stamps: stampsAfter(stamps, update) }
      }),
    )
  } catch (thrown) {
    // Keep the changes that are shown: the person may be writing a comment on them.
    if (!signal.aborted) set((before) => ({ ...before, error: errorText(thrown) }))
  }
}

/** Runs one call of `work` at a time. Calls during a run are combined into one call after that run. */
function oneAtATime(work: (paths?: readonly string[]) => Promise<void>): (paths?: readonly string[]) => void {
  let busy = false
  let next: { paths: readonly string[] | undefined } | undefined
  const run = async (paths: readonly string[] | undefined) => {
    busy = true
    await work(paths)
    busy = false
    const more = next
    next = undefined
    if (more) void run(more.paths)
  }
  return (paths) => {
    if (!busy) return void run(paths)
    const before = next ? next.paths : []
    next = { paths: before && paths && [...before, ...paths] }
  }
}

function watch(id: string, refresh: (paths?: readonly string[]) => void): () => void {
  let timer: ReturnType<typeof setInterval> | undefined
  const stop = client.watchChanges(id, {
    onChanged: refresh,
    onState(state) {
      if (state === 'watching') {
        clearInterval(timer)
        timer = undefined
      } else timer ??= setInterval(refresh, pollMs)
      // Changes made before the watch started were not reported.
      if (state === 'watching' || state === 'partial') refresh()
    },
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}

/** The `seq` of the last block whose end may mean that files have changed: a turn end or an ended tool call. */
function endedSteps(timeline: readonly { type: string; seq: number; status?: string }[]): number {
  for (let at = timeline.length - 1; at >= 0; at--) {
    const block = timeline[at]!
    if (block.type === 'turn-end' || (block.type === 'tool-call' && block.status !== 'running'))
      return block.seq
  }
  return 0
}
