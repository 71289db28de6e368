import { measureElement, type ReactVirtualizer, useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useState } from 'react'
import { useKeepPlace, usePlaceKeeper } from './keep-place.ts'
import { createRange } from './range.logic.ts'
import { isPlain, type Row } from './rows.logic.ts'
import { useEndKeeper, useFollow } from './stay-at-end.ts'

export type TimelineVirtualizer = ReactVirtualizer<HTMLDivElement, HTMLDivElement>

/** The virtual list of rows, and whether the reader is at its end. */
export function useList(
  rows: readonly Row[],
  keyOf: (index: number) => string | number,
  scroller: RefObject<HTMLDivElement | null>,
) {
  const [atEnd, setAtEnd] = useState(true)
  const end = useEndKeeper(scroller)
  const place = usePlaceKeeper(scroller)
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
      // The list does not store a size that equals the estimate. A new estimate would then move the visible rows.
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
    },
  })
  useFollow(end, virtualizer.getTotalSize())
  useKeepPlace(place, virtualizer, rows, end)
  return { virtualizer, end, atEnd }
}
