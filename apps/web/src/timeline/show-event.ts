import { useLoadOlder } from '@parley/client/react'
import { useEffect, useRef, useState } from 'react'
import type { Route } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { toast, toastError } from '../parts/toasts.tsx'
import { type FoundWord, foundIn } from '../session-data/found-text.ts'
import { useSessionId, useSnapshot } from '../session-data/session-context.tsx'
import type { Segment } from './nodes.logic.ts'
import { nodeOfEvent, pathTo, type Row } from './rows.logic.ts'

type Input = {
  rows: readonly Row[]
  segments: readonly Segment[]
  toggle: (key: string, open: boolean) => void
  showRow: (key: string) => void
}

/** The row of the event that the address names. */
export type ShownEvent = {
  readonly key: string
  /** The row has a coloured background for a few seconds. */
  readonly isMarked: boolean
  /** The word of the event that a search found. */
  readonly found: FoundWord | undefined
  /** Differs for each visit, even if the same event is visited again. */
  readonly visit: number
}

const markedMs = 4_000

/**
 * Scrolls to the row of the event that the address names. If necessary, loads older pages, and expands the
 * row and the rows that contain it.
 */
export function useShowEvent({ rows, segments, toggle, showRow }: Input): ShownEvent | undefined {
  const route = useRoute()
  const seq = route.name === 'session' ? route.seq : undefined
  const id = useSessionId()
  const status = useSnapshot((snapshot) => snapshot.status)
  const atStart = useSnapshot((snapshot) => snapshot.atStart)
  const loadOlder = useLoadOlder(id)
  const [shown, setShown] = useState<ShownEvent>()
  // Each visit has a new route object.
  const done = useRef<Route>(undefined)

  useEffect(() => {
    if (seq === undefined || status !== 'live' || done.current === route) return
    const node = nodeOfEvent(segments, seq)
    if (!node) {
      // A call that ended with this event may have begun on an older page.
      if (!atStart) return void loadOlder().catch(toastError)
      done.current = route
      return toast('The linked message is no longer in the conversation.')
    }
    for (const key of pathTo(segments, node.key) ?? []) toggle(key, true)
    if (node.type === 'call') toggle(node.key, true)
    if (!rows.some((row) => row.key === node.key && (node.type !== 'call' || row.open))) return
    done.current = route
    showRow(node.key)
    const found = foundIn(id, seq)
    setShown((before) => ({ key: node.key, isMarked: true, found, visit: (before?.visit ?? 0) + 1 }))
  }, [route, seq, id, status, atStart, segments, rows, toggle, showRow, loadOlder])

  const visit = shown?.visit
  useEffect(() => {
    if (visit === undefined) return
    const timer = setTimeout(() => setShown((now) => now && { ...now, isMarked: false }), markedMs)
    return () => clearTimeout(timer)
  }, [visit])
  return seq === undefined ? undefined : shown
}
