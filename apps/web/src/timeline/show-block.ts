import { useLoadOlder } from '@parley/client/react'
import { useEffect, useRef, useState } from 'react'
import { useRoute } from '../base/route.ts'
import { toast, toastError } from '../parts/toasts.tsx'
import { useSessionId, useSnapshot } from '../session-data/session-context.tsx'
import type { Segment } from './nodes.logic.ts'
import { pathTo, type Row } from './rows.logic.ts'

type Input = {
  rows: readonly Row[]
  segments: readonly Segment[]
  toggle: (key: string, open: boolean) => void
  showRow: (key: string) => void
}

/** Scrolls to the block that the address names, loading older pages if necessary. Returns its key for a few seconds. */
export function useShowBlock({ rows, segments, toggle, showRow }: Input): string | undefined {
  const route = useRoute()
  const seq = route.name === 'session' ? route.seq : undefined
  const status = useSnapshot((snapshot) => snapshot.status)
  const atStart = useSnapshot((snapshot) => snapshot.atStart)
  const loadOlder = useLoadOlder(useSessionId())
  const [marked, setMarked] = useState<string>()
  const done = useRef<number>(undefined)

  useEffect(() => {
    if (seq === undefined || status !== 'live' || done.current === seq) return
    const block = blockAt(segments, seq)
    if (!block) {
      if (!atStart && seq < firstSeq(segments)) void loadOlder().catch(toastError)
      else {
        done.current = seq
        toast('The linked message is no longer in the conversation.')
      }
      return
    }
    for (const key of pathTo(segments, block.id) ?? []) toggle(key, true)
    if (!rows.some((row) => row.key === block.id)) return
    done.current = seq
    showRow(block.id)
    setMarked(block.id)
    const timer = setTimeout(() => setMarked(undefined), 4000)
    return () => clearTimeout(timer)
  }, [seq, status, atStart, segments, rows, toggle, showRow, loadOlder])
  return marked
}

function blockAt(segments: readonly Segment[], seq: number) {
  for (const segment of segments) for (const block of segment.blocks) if (block.seq === seq) return block
  return undefined
}

function firstSeq(segments: readonly Segment[]): number {
  let first = Number.POSITIVE_INFINITY
  for (const block of segments[0]?.blocks ?? []) first = Math.min(first, block.seq)
  return first
}
