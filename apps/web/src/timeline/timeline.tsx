import { useLoadOlder } from '@parley/client/react'
import { ArrowDown } from 'lucide-react'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { LazyCurrentTurn } from './lazy-turn-line.tsx'
import { type Reading, readTimeline } from './nodes.logic.ts'
import { useOpenBlocks } from './open-blocks.ts'
import { listRows, type Row, type RowList, writingRows } from './rows.logic.ts'
import { useShowEvent } from './show-event.ts'
import type { EndKeeper } from './stay-at-end.ts'
import { TimelineRow } from './timeline-row.tsx'
import { type TimelineVirtualizer, useList } from './use-list.ts'
import { useOpened } from './use-opened.ts'
import { WorkingRow } from './working-row.tsx'

const findPart = lazyPart(() => import('./find.tsx'))
const wordPart = lazyPart(() => import('./found-word.tsx'))

/** The rows of the open session, and the function that expands them. */
function useRows() {
  const timeline = useSnapshot((snapshot) => snapshot.view.timeline)
  const openTurnId = useSessionState((state) => state.turn?.turnId)
  const openBlocks = useOpenBlocks()
  const read = useRef<Reading>(undefined)
  const segments = useMemo(() => {
    read.current = readTimeline(timeline, openTurnId, read.current)
    return read.current.segments
  }, [timeline, openTurnId])
  const { opened, toggle } = useOpened(segments)
  const listed = useRef<RowList>(undefined)
  const recorded = useMemo(() => {
    listed.current = listRows(segments, opened, listed.current)
    return listed.current.rows
  }, [segments, opened])
  const writing = writingRows(openBlocks, recorded, opened)
  const rows = writing.length === 0 ? recorded : [...recorded, ...writing]
  const keyOf = useKeys(rows, recorded, writing)
  return { rows, keyOf, segments, openBlocks, toggle, isWriting: writing.length > 0 }
}

/** Returns the same function as long as the keys are the same: a new function makes the list measure every row again. */
function useKeys(rows: readonly Row[], recorded: readonly Row[], writing: readonly Row[]) {
  const latest = useRef(rows)
  latest.current = rows
  const written = writing.map(({ key }) => key).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys are derived from these
  return useCallback((index: number) => latest.current[index]?.key ?? index, [recorded, written])
}

export function Timeline({ findOpen, onFindClose }: { findOpen: boolean; onFindClose: () => void }) {
  const { rows, keyOf, segments, openBlocks, toggle } = useRows()
  const folder = useSessionState((state) => state.cwd)
  const setSize = useSetSize(rows.length)
  const scroller = useRef<HTMLDivElement>(null)
  const { virtualizer, end, atEnd, turnKey } = useList(rows, keyOf, scroller)
  useOlderPages(virtualizer, scroller)
  const showRow = useShowRow(rows, virtualizer, end)
  const shown = useShowEvent({ rows, segments, toggle, showRow })
  const found = shown?.found
  return (
    <div className="relative min-h-0 flex-1">
      {findOpen && (
        <Lazy part={findPart}>
          {(Find) => (
            <Find
              segments={segments}
              toggle={toggle}
              showRow={showRow}
              scroller={scroller}
              onClose={onFindClose}
            />
          )}
        </Lazy>
      )}
      {found && !findOpen && (
        <Lazy part={wordPart}>
          {(FoundWord) => (
            <FoundWord
              key={shown.visit}
              found={found}
              rowKey={shown.key}
              showRow={showRow}
              scroller={scroller}
            />
          )}
        </Lazy>
      )}
      <section
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
        tabIndex={0}
        aria-label="Conversation"
        data-testid="timeline"
        data-at-end={atEnd}
        className="h-full overflow-y-auto overscroll-contain [overflow-anchor:none] outline-none focus-visible:outline-2 focus-visible:-outline-offset-2"
      >
        <LazyCurrentTurn
          turnKey={turnKey}
          rows={rows}
          segments={segments}
          toggle={toggle}
          showRow={showRow}
        />
        <div
          ref={virtualizer.containerRef}
          role="feed"
          aria-label="Conversation"
          aria-busy={openBlocks.length > 0}
          className="relative mx-auto w-full max-w-3xl [&_:is(a,button,article,[tabindex])]:scroll-mt-11"
        >
          {virtualizer.getVirtualItems().map(({ key, index }) => {
            const row = rows[index]
            if (!row) return null
            const measure = virtualizer.measureElement
            const place = { index, setSize, measure, marked: shown?.isMarked === true && shown.key === key }
            return <TimelineRow key={key} row={row} folder={folder} onToggle={toggle} {...place} />
          })}
          <article aria-label="Status" className="absolute inset-x-0 bottom-2 px-4 max-md:px-3">
            <WorkingRow isWriting={openBlocks.length > 0} isEmpty={rows.length === 0} />
          </article>
        </div>
      </section>
      {!atEnd && <JumpToLatest onClick={end.comeBack} />}
    </div>
  )
}

function JumpToLatest({ onClick }: { onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={onClick}
      className="absolute bottom-3 left-1/2 flex min-h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-edge bg-card px-3 text-xs font-medium shadow-lg hover:bg-hover pointer-coarse:min-h-11"
    >
      <ArrowDown size={14} aria-hidden /> Jump to latest
    </button>
  )
}

/** Scrolls to a row by its key, and stops following the end. */
function useShowRow(rows: readonly Row[], virtualizer: TimelineVirtualizer, { leave }: EndKeeper) {
  const latest = useRef(rows)
  latest.current = rows
  return useCallback(
    (key: string, align: 'center' | 'start' = 'center') => {
      const index = latest.current.findIndex((row) => row.key === key)
      if (index < 0) return
      leave()
      virtualizer.scrollToIndex(index, { align })
    },
    [virtualizer, leave],
  )
}

/** The number of rows for screen readers: -1 (unknown) while older rows are not loaded or a turn runs. */
function useSetSize(length: number): number {
  const isWhole = useSnapshot(({ atStart, view }) => atStart && view.state.turn === undefined)
  return isWhole ? length : -1
}

/** Loads older pages when the reader scrolls near the top. The visible rows stay in place. */
function useOlderPages(
  virtualizer: TimelineVirtualizer,
  scroller: React.RefObject<HTMLDivElement | null>,
): void {
  const loadOlder = useLoadOlder(useSessionId())
  const more = useSnapshot((snapshot) => !snapshot.atStart && snapshot.status === 'live')
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
  const length = useSnapshot((snapshot) => snapshot.view.timeline.length)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a reader still near the top after a page needs the next
  useEffect(() => {
    const element = scroller.current
    load()
    element?.addEventListener('scroll', load, { passive: true })
    return () => element?.removeEventListener('scroll', load)
  }, [load, scroller, length])
}
