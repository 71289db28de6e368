import { useLoadOlder } from '@parley/client/react'
import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { useDeferredValue, useEffect, useMemo, useState } from 'react'
import { toastError } from '../page/toasts.tsx'
import { IconButton } from '../parts/button.tsx'
import { usePart, useSessionId } from '../session/session-context.tsx'
import { findIn } from './find.logic.ts'
import type { Segment } from './nodes.logic.ts'
import { pathTo, type Row } from './rows.logic.ts'
import type { TimelineVirtualizer } from './timeline.tsx'

type Props = {
  segments: readonly Segment[]
  rows: readonly Row[]
  toggle: (key: string, open: boolean) => void
  virtualizer: TimelineVirtualizer
  onClose: () => void
}

/** Find over the whole conversation as it is known here, not over what happens to be on screen. */
export function Find({ segments, rows, toggle, virtualizer, onClose }: Props) {
  const [query, setQuery] = useState('')
  const [place, setPlace] = useState(0)
  const wanted = useDeferredValue(query)
  const found = useMemo(() => findIn(segments, wanted), [segments, wanted])
  const now = found.length === 0 ? undefined : found[((place % found.length) + found.length) % found.length]
  const loading = useWholeConversation(wanted.trim() !== '')

  useEffect(() => {
    if (now === undefined) return
    for (const key of pathTo(segments, now) ?? []) toggle(key, true)
    toggle(now, true)
  }, [now, segments, toggle])
  const index = now === undefined ? -1 : rows.findIndex((row) => row.key === now)
  useEffect(() => {
    if (index >= 0) virtualizer.scrollToIndex(index, { align: 'center' })
  }, [index, virtualizer])
  useMarks(wanted, now)

  const step = (by: number) => setPlace((before) => before + by)
  return (
    <search className="absolute top-2 right-3 z-10 flex items-center gap-1 rounded-lg border border-edge bg-card py-1 pr-1 pl-2.5 shadow-lg">
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to find
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
          if (event.key === 'Escape') onClose()
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
        }}
      />
      <span className="min-w-14 text-right text-xs text-soft tabular-nums" role="status">
        {wanted.trim() !== '' &&
          (found.length === 0
            ? loading
              ? 'Looking…'
              : 'None'
            : `${found.indexOf(now ?? '') + 1} of ${found.length}`)}
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

/** What is above is loaded page by page while somebody looks for something. */
function useWholeConversation(wanted: boolean): boolean {
  const loadOlder = useLoadOlder(useSessionId())
  const more = usePart((snapshot) => !snapshot.atStart && snapshot.status === 'live')
  const length = usePart((snapshot) => snapshot.view.timeline.length)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page that came asks for the next
  useEffect(() => {
    if (wanted && more) loadOlder().catch(toastError)
  }, [wanted, more, length, loadOlder])
  return wanted && more
}

/** Paints the matches on screen without touching the elements. */
function useMarks(query: string, now: string | undefined): void {
  useEffect(() => {
    if (!('highlights' in CSS)) return
    const wanted = query.trim().toLowerCase()
    const paint = () => {
      const all = wanted === '' ? [] : rangesOf(wanted)
      CSS.highlights.set(
        'find',
        new Highlight(...all.filter(({ key }) => key !== now).map(({ range }) => range)),
      )
      CSS.highlights.set(
        'find-now',
        new Highlight(...all.filter(({ key }) => key === now).map(({ range }) => range)),
      )
    }
    paint()
    const timer = setInterval(paint, 300)
    return () => {
      clearInterval(timer)
      CSS.highlights.delete('find')
      CSS.highlights.delete('find-now')
    }
  }, [query, now])
}

function rangesOf(wanted: string): { key: string; range: Range }[] {
  const ranges: { key: string; range: Range }[] = []
  for (const article of document.querySelectorAll<HTMLElement>('[role=feed] > article')) {
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node && ranges.length < 2000; node = walker.nextNode()) {
      const text = node.nodeValue?.toLowerCase() ?? ''
      if (text.length !== node.nodeValue?.length) continue
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
        const range = new Range()
        range.setStart(node, at)
        range.setEnd(node, at + wanted.length)
        ranges.push({ key: article.dataset.key ?? '', range })
      }
    }
  }
  return ranges
}
