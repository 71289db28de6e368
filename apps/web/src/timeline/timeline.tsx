import { useLoadOlder } from '@parley/client/react'
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from 'lucide-react'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { toastError } from '../page/toasts.tsx'
import { usePart, useSessionId, useStatePart } from '../session/session-context.tsx'
import { Find } from './find.tsx'
import { useKeepPlace } from './keep-place.ts'
import { type Segment, segmentsOf } from './nodes.logic.ts'
import { useOpened } from './opened.ts'
import { RowView } from './row-view.tsx'
import { liveCall, type Row, rowsOf, writingRows } from './rows.logic.ts'
import { useShowBlock } from './show-block.ts'
import { nearEnd, useStayAtEnd } from './stay-at-end.ts'
import { WorkingRow } from './working-row.tsx'

export type TimelineVirtualizer = Virtualizer<HTMLDivElement, HTMLDivElement>

/** The rows of the session that is shown, and what opens them. */
export function useRows() {
  const timeline = usePart((snapshot) => snapshot.view.timeline)
  const openTurnId = useStatePart((state) => state.turn?.turnId)
  const openBlocks = useStatePart((state) => state.openBlocks)
  const { opened, toggle } = useOpened()
  const before = useRef<readonly Segment[]>([])
  const segments = useMemo(() => {
    before.current = segmentsOf(timeline, openTurnId, before.current)
    return before.current
  }, [timeline, openTurnId])
  const recorded = useMemo(() => rowsOf(segments, opened), [segments, opened])
  const writing = writingRows(openBlocks, recorded, opened)
  const rows = writing.length === 0 ? recorded : [...recorded, ...writing]
  const keyOf = useKeys(rows, recorded, writing)
  return { rows, keyOf, segments, openBlocks, toggle, isWriting: writing.length > 0 }
}

/** The same function as long as the keys are the same: with another one the list measures every row anew. */
function useKeys(rows: readonly Row[], recorded: readonly Row[], writing: readonly Row[]) {
  const latest = useRef(rows)
  latest.current = rows
  const written = writing.map(({ key }) => key).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the keys are made of
  return useCallback((index: number) => latest.current[index]?.key ?? index, [recorded, written])
}

export function Timeline({ findOpen, onFindClose }: { findOpen: boolean; onFindClose: () => void }) {
  const { rows, keyOf, segments, openBlocks, toggle } = useRows()
  const folder = useStatePart((state) => state.cwd)
  const scroller = useRef<HTMLDivElement>(null)
  const [atEnd, setAtEnd] = useState(true)
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: keyOf,
    estimateSize: (index) => estimate(rows[index]),
    overscan: 6,
    paddingStart: 20,
    paddingEnd: 40,
    gap: 2,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: 60,
    onChange: (instance) => setAtEnd(instance.isAtEnd(nearEnd)),
  })
  useStartAtEnd(virtualizer)
  useStayAtEnd(virtualizer, scroller)
  useKeepPlace(virtualizer, rows, scroller)
  useOlderPages(virtualizer, scroller)
  const marked = useShowBlock({ rows, segments, toggle, virtualizer })
  return (
    <div className="relative min-h-0 flex-1">
      {findOpen && (
        <Find
          segments={segments}
          rows={rows}
          toggle={toggle}
          virtualizer={virtualizer}
          onClose={onFindClose}
        />
      )}
      <section
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label="Conversation"
        data-testid="timeline"
        data-at-end={atEnd}
        className="h-full overflow-y-auto overscroll-contain [overflow-anchor:none] outline-none focus-visible:outline-2 focus-visible:-outline-offset-2"
      >
        <div
          role="feed"
          aria-label="Conversation"
          aria-busy={openBlocks.length > 0}
          className="relative mx-auto w-full max-w-3xl"
          style={{ height: virtualizer.getTotalSize() }}
        >
          {virtualizer.getVirtualItems().map((item) => {
            const row = rows[item.index]
            if (!row) return null
            return (
              <article
                key={item.key}
                ref={virtualizer.measureElement}
                data-index={item.index}
                data-key={item.key}
                aria-label={nameOf(row)}
                aria-posinset={item.index + 1}
                aria-setsize={rows.length}
                tabIndex={-1}
                className={`absolute inset-x-0 top-0 px-4 outline-none max-md:px-3 ${marked === item.key ? 'bg-mark-wash/70' : ''}`}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <div className={`${spacing(row)} ${indents[Math.min(row.depth, indents.length - 1)]}`}>
                  <RowView row={row} live={liveOf(row, openBlocks)} folder={folder} onToggle={toggle} />
                </div>
              </article>
            )
          })}
          <article aria-label="Status" className="absolute inset-x-0 bottom-2 px-4 max-md:px-3">
            <WorkingRow isWriting={openBlocks.length > 0} isEmpty={rows.length === 0} />
          </article>
        </div>
      </section>
      {!atEnd && (
        <button
          type="button"
          onClick={() => virtualizer.scrollToEnd()}
          className="absolute bottom-3 left-1/2 flex min-h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-edge bg-card px-3 text-xs font-medium shadow-lg hover:bg-hover pointer-coarse:min-h-11"
        >
          <ArrowDown size={14} aria-hidden /> Latest
        </button>
      )}
    </div>
  )
}

const indents = [
  '',
  'ml-5 border-l border-line pl-2',
  'ml-10 border-l border-line pl-2',
  'ml-14 border-l border-line pl-2',
]

function spacing(row: Row): string {
  if ('writing' in row) return row.writing.type === 'text' ? 'py-1.5' : ''
  if (row.node.type === 'prompt') return 'pt-3 pb-2'
  return row.node.type === 'text' ? 'py-1.5' : ''
}

function estimate(row: Row | undefined): number {
  if (!row) return 30
  if ('writing' in row) return 60
  if (row.node.type === 'text') return 40 + Math.ceil(row.node.block.text.length / 90) * 24
  if (row.node.type === 'prompt') return 64
  return row.open ? 140 : 30
}

const names: Record<string, string> = {
  prompt: 'You',
  text: 'Agent',
  thinking: 'Thought',
  call: 'Step',
  group: 'Steps',
  request: 'Request',
  end: 'End of the turn',
  notice: 'Notice',
  unrecognised: 'Unknown message',
}

function nameOf(row: Row): string {
  if ('writing' in row) return 'Being written'
  if (row.node.type === 'call') return `Step: ${row.node.block.title.slice(0, 80)}`
  return names[row.node.type] ?? 'Row'
}

function liveOf(row: Row, openBlocks: Parameters<typeof liveCall>[0]) {
  return 'node' in row && row.node.type === 'call' && row.open
    ? liveCall(openBlocks, row.node.key)
    : undefined
}

/** A session opens at its latest, unless the address names another place. */
function useStartAtEnd(virtualizer: TimelineVirtualizer): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens
  useLayoutEffect(() => {
    if (!/^#e\d/.test(location.hash)) virtualizer.scrollToEnd()
  }, [])
}

/** Loads what is above when the reader comes near it. What is on screen stays where it is. */
function useOlderPages(
  virtualizer: TimelineVirtualizer,
  scroller: React.RefObject<HTMLDivElement | null>,
): void {
  const loadOlder = useLoadOlder(useSessionId())
  const more = usePart((snapshot) => !snapshot.atStart && snapshot.status === 'live')
  const load = useCallback(() => {
    const element = scroller.current
    if (!more || !element || element.scrollTop > 800) return
    if (
      virtualizer.getTotalSize() > element.clientHeight &&
      virtualizer.isAtEnd(10) &&
      element.scrollTop > 200
    )
      return
    loadOlder().catch(toastError)
  }, [more, loadOlder, scroller, virtualizer])
  const length = usePart((snapshot) => snapshot.view.timeline.length)
  // biome-ignore lint/correctness/useExhaustiveDependencies: who is still near the top after a page wants the next
  useEffect(() => {
    const element = scroller.current
    load()
    element?.addEventListener('scroll', load, { passive: true })
    return () => element?.removeEventListener('scroll', load)
  }, [load, scroller, length])
}
