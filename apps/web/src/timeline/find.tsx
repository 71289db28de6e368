import { useLoadOlder } from '@parley/client/react'
import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { type RefObject, useDeferredValue, useEffect, useMemo, useState } from 'react'
import { IconButton } from '../parts/button.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSnapshot } from '../session-data/session-context.tsx'
import { findIn, type Hit, maxFound, normalizedQuery } from './find.logic.ts'
import { useMarks, useSeek } from './find-marks.ts'
import type { Segment } from './nodes.logic.ts'
import { pathTo } from './rows.logic.ts'

type Props = {
  segments: readonly Segment[]
  toggle: (key: string, open: boolean) => void
  showRow: (key: string) => void
  scroller: RefObject<HTMLElement | null>
  onClose: () => void
}

/** Searches the whole loaded conversation, not only the rows on screen. */
export default function Find({ segments, toggle, showRow, scroller, onClose }: Props) {
  const [query, setQuery] = useState('')
  const [place, setPlace] = useState(0)
  const wanted = normalizedQuery(useDeferredValue(query))
  const found = useMemo(() => findIn(segments, wanted), [segments, wanted])
  const index = found.length === 0 ? -1 : ((place % found.length) + found.length) % found.length
  const hit = found[index]
  const loading = useLoadAll(wanted !== '')

  const key = hit?.key
  // biome-ignore lint/correctness/useExhaustiveDependencies: once per match, so that collapsed rows stay collapsed
  useEffect(() => {
    if (key === undefined) return
    for (const outer of pathTo(segments, key) ?? []) toggle(outer, true)
    toggle(key, true)
  }, [key, toggle])
  useMarks(wanted, hit)
  useSeek(hit, wanted, { showRow, scroller })
  useRestoreFocus(scroller)

  const step = (by: number) => setPlace((before) => before + by)
  return (
    <search className="absolute top-2 right-3 z-10 flex items-center gap-1 rounded-lg border border-edge bg-card py-1 pr-1 pl-2.5 shadow-lg">
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person opened the search
        autoFocus
        type="text"
        value={query}
        aria-label="Find in this session"
        placeholder="Find"
        className="w-44 bg-transparent text-sm outline-none"
        onChange={(event) => {
          setQuery(event.target.value)
          setPlace(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            event.stopPropagation()
            onClose()
          }
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
        }}
      />
      <span className="min-w-14 text-right text-xs text-soft tabular-nums" role="status">
        {wanted !== '' && countLabel(found, index, loading)}
      </span>
      <IconButton label="Previous" onClick={() => step(-1)}>
        <ChevronUp size={15} />
      </IconButton>
      <IconButton label="Next" onClick={() => step(1)}>
        <ChevronDown size={15} />
      </IconButton>
      <IconButton label="Close find" onClick={onClose}>
        <X size={15} />
      </IconButton>
    </search>
  )
}

function countLabel(found: readonly Hit[], index: number, loading: boolean): string {
  if (found.length === 0) return loading ? 'Searching…' : 'No results'
  return `${index + 1} of ${found.length}${found.length >= maxFound ? '+' : ''}`
}

/**
 * When the find bar closes, returns the focus to the element that had it before, or to the timeline if that element is
 * gone.
 */
function useRestoreFocus(scroller: RefObject<HTMLElement | null>): void {
  const [before] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      if (before instanceof HTMLElement && before !== document.body && before.isConnected) before.focus()
      else scroller.current?.focus()
    },
    [before, scroller],
  )
}

/** Loads older pages one by one while a search is active. */
function useLoadAll(wanted: boolean): boolean {
  const loadOlder = useLoadOlder(useSessionId())
  const more = useSnapshot((snapshot) => !snapshot.atStart && snapshot.status === 'live')
  const length = useSnapshot((snapshot) => snapshot.view.timeline.length)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each loaded page requests the next
  useEffect(() => {
    if (wanted && more) loadOlder().catch(toastError)
  }, [wanted, more, length, loadOlder])
  return wanted && more
}
