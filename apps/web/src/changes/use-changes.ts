import type { Changes, FileChange } from '@parley/protocol'
import { startTransition, useCallback, useEffect, useRef, useState } from 'react'
import { client, useConnection } from '../base/client.ts'
import { useWindowEvent } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { setChangesCount } from '../session-data/changes-count.ts'
import { rememberChanges } from '../session-data/known-changes.ts'
import { useLastEnded } from '../session-data/last-ended.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { type Comparison, queryOf, useComparison } from '../session-data/shown-changes.ts'
import { useFolderWatch } from '../session-data/watch-folder.ts'
import { type Stamps, stampsAfter } from './stamps.logic.ts'

type Seen = {
  readonly changes?: Changes
  /** The comparison whose result `changes` is. */
  readonly comparison: Comparison
  readonly stamps: Stamps
  readonly error?: string
}

/**
 * The changes in the session's folder. They are read when the panel opens, when files change, when a step ends, when
 * the server is reachable again and when the page becomes visible again. A hidden page watches nothing.
 */
export function useChanges() {
  const id = useSessionId()
  const { scope, turnId } = useComparison()
  const [seen, setSeen] = useState<Seen>(() => ({ comparison: { scope }, stamps: new Map() }))
  const refresh = useRef<(paths?: readonly string[]) => void>(() => {})
  const online = useConnection().state === 'open'
  useEffect(() => {
    const controller = new AbortController()
    const comparison: Comparison = { scope, ...(turnId !== undefined && { turnId }) }
    refresh.current = oneAtATime((paths) =>
      fetchChanges({ id, comparison, paths, signal: controller.signal }, setSeen),
    )
    refresh.current()
    return () => {
      controller.abort()
      refresh.current = () => {}
    }
  }, [id, scope, turnId])
  useFolderWatch(id, (paths) => refresh.current(paths))
  const ended = useLastEnded()
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
  const refreshAll = useCallback(() => refresh.current(), [])
  return { ...seen, refresh: refreshAll }
}

type Query = {
  id: string
  comparison: Comparison
  paths: readonly string[] | undefined
  signal: AbortSignal
}

async function fetchChanges(
  { id, comparison, paths, signal }: Query,
  set: (change: (before: Seen) => Seen) => void,
): Promise<void> {
  try {
    const changes = await client.call('listChanges', { params: { id }, query: queryOf(comparison), signal })
    setChangesCount({ sessionId: id, count: changes.files.length, cut: changes.cut })
    rememberChanges(id, changes.files)
    // There may be hundreds of files: render them when there is time.
    startTransition(() =>
      set(({ changes: before, comparison: last, stamps }) => {
        const update = { before: before?.files ?? [], after: changes.files, paths }
        const shown = sameComparison(last, comparison) ? last : comparison
        const files = keepEqual(update.before, changes.files)
        return { changes: { ...changes, files }, comparison: shown, stamps: stampsAfter(stamps, update) }
      }),
    )
  } catch (thrown) {
    if (signal.aborted) return
    const error = errorText(thrown)
    set((before) => {
      // Keeps the shown changes, because the person may be writing a remark on them, but not changes of
      // another scope.
      return sameComparison(before.comparison, comparison)
        ? { ...before, error }
        : { comparison, stamps: new Map(), error }
    })
  }
}

/** The new list, with the earlier objects of files that look the same, so that only other files are rendered again. */
function keepEqual(before: readonly FileChange[], after: FileChange[]): FileChange[] {
  const known = new Map(before.map((file) => [file.path, file]))
  return after.map((file) => {
    const earlier = known.get(file.path)
    return earlier && JSON.stringify(earlier) === JSON.stringify(file) ? earlier : file
  })
}

const sameComparison = (one: Comparison, other: Comparison) =>
  one.scope === other.scope && one.turnId === other.turnId

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
