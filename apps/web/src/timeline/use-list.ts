import {
  measureElement,
  type ReactVirtualizer,
  useVirtualizer,
  type Virtualizer,
} from '@tanstack/react-virtual'
import { type RefObject, useLayoutEffect, useState } from 'react'
import { createRange } from './range.logic.ts'
import { isPlain, type Row, turnHeight } from './rows.logic.ts'
import { useEndKeeper } from './stay-at-end.ts'
import type { Turn } from './turn.logic.ts'

export type TimelineVirtualizer = ReactVirtualizer<HTMLDivElement, HTMLDivElement>

/** The virtual list of rows, and whether the reader is at its end. */
export function useList(
  rows: readonly Row[],
  keyOf: (index: number) => string | number,
  scroller: RefObject<HTMLDivElement | null>,
) {
  const [atEnd, setAtEnd] = useState(true)
  const [turnKey, setTurnKey] = useState<string>()
  const end = useEndKeeper(scroller)
  const [place] = useState(() => createPlaceKeeper(scroller))
  const [range] = useState(createRange)
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: keyOf,
    estimateSize: (index) => rows[index]?.estimate ?? 30,
    overscan: 4,
    rangeExtractor: range,
    // The browser reports the height of a row after layout. Measuring earlier forces a second layout.
    measureElement: (element, entry, instance) => {
      const index = instance.indexFromElement(element)
      const known = instance.measurementsCache[index]?.size
      if (!entry && known !== undefined && isPlain(rows[index])) return known
      const size = measureElement(element, entry, instance)
      // Stores a size that equals the estimate. The list itself does not store such a size, so a new estimate would
      // move the visible rows.
      if (entry && size === known) instance.itemSizeCache.set(keyOf(index), size)
      return size
    },
    paddingStart: 20,
    paddingEnd: 40,
    gap: 2,
    anchorTo: 'end',
    scrollEndThreshold: 60,
    // Rows are moved without rendering.
    directDomUpdates: true,
    directDomUpdatesMode: 'transform',
    observeElementOffset: end.observeElementOffset,
    onChange: (instance) => {
      end.follow()
      place.note(instance)
      setAtEnd(end.isStaying())
      setTurnKey(turnAbove(instance, rows))
    },
  })
  const height = virtualizer.getTotalSize()
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the end whenever the total height has changed
  useLayoutEffect(end.follow, [height, end.follow])
  useLayoutEffect(() => {
    place.keep(virtualizer, rows, end.isStaying())
    setTurnKey(turnAbove(virtualizer, rows))
  })
  return { virtualizer, end, atEnd, turnKey }
}

/** The key of the turn at the top of the view, if its first row is above the view. */
function turnAbove(list: List, rows: readonly Row[]): string | undefined {
  const top = (list.scrollOffset ?? 0) + turnHeight
  const row = rows[list.getVirtualItems().find((item) => item.end > top)?.index ?? -1]
  if (!row?.turn || 'collapsed' in row || isFirstOf(row.turn, row)) return undefined
  return row.turn.key
}

function isFirstOf({ key, head, isTakenBack }: Turn, row: Row): boolean {
  return row.key === (isTakenBack ? key : head?.id)
}

type List = Virtualizer<HTMLDivElement, HTMLDivElement>
type Place = { readonly key: string; readonly fromTop: number }

/**
 * Keeps the visible rows in place when rows are added above them. The list uses its topmost row as the
 * anchor. If that row has become part of a group, the first row below it that still exists is the anchor.
 */
type PlaceKeeper = {
  /** Must be called whenever rows have been moved. */
  note(list: List): void
  /** Must be called whenever rows have been rendered. Restores the place, except for a reader who follows the end. */
  keep(list: List, rows: readonly Row[], atEnd: boolean): void
}

function createPlaceKeeper(scroller: RefObject<HTMLDivElement | null>): PlaceKeeper {
  let first: string | undefined
  let places: readonly Place[] = []

  function note(list: List): void {
    const top = list.scrollOffset ?? 0
    // Does nothing right after rows were added above: their positions are not yet those on the screen.
    if (list.options.getItemKey(0) !== first) return
    const items = list.getVirtualItems().filter((item) => item.end > top)
    places = items.map((item) => ({ key: String(item.key), fromTop: item.start - top }))
  }

  return {
    note,
    keep(list, rows, atEnd) {
      const element = scroller.current
      if (!element) return
      const firstBefore = first
      first = rows[0]?.key
      if (!atEnd && firstBefore !== undefined && first !== firstBefore)
        restore(list, rows, { element, places })
      note(list)
    },
  }
}

function restore(
  list: List,
  rows: readonly Row[],
  { element, places }: { element: HTMLDivElement; places: readonly Place[] },
): void {
  const indexes = new Map(rows.map((row, index) => [row.key, index]))
  const place = places.find(({ key }) => indexes.has(key))
  const item = place && list.measurementsCache[indexes.get(place.key) ?? -1]
  if (!item) return
  const wanted = item.start - place.fromTop
  if (Math.abs(wanted - element.scrollTop) > 2) list.scrollToOffset(wanted)
}
