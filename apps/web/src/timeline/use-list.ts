import { measureElement, type ReactVirtualizer, useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useState } from 'react'
import { useKeepPlace, usePlaceKeeper } from './keep-place.ts'
import { createRange } from './range.logic.ts'
import { isPlain, type Row } from './rows.logic.ts'
import { nearEnd, useEndKeeper, useFollow } from './stay-at-end.ts'

export type TimelineVirtualizer = ReactVirtualizer<HTMLDivElement, HTMLDivElement>

/** Which rows are in the page and where, and whether the reader is at their end. */
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
    estimateSize: (index) => rows[index]?.guess ?? 30,
    overscan: 4,
    rangeExtractor: range,
    // The browser tells how tall a row is when it has laid it out; to ask before that makes it do so twice.
    measureElement: (element, entry, instance) => {
      const index = instance.indexFromElement(element)
      const known = !entry && isPlain(rows[index]) ? instance.measurementsCache[index]?.size : undefined
      return known ?? measureElement(element, entry, instance)
    },
    paddingStart: 20,
    paddingEnd: 40,
    gap: 2,
    anchorTo: 'end',
    scrollEndThreshold: 60,
    // Rows are moved without rendering them again.
    directDomUpdates: true,
    directDomUpdatesMode: 'transform',
    observeElementOffset: end.observeElementOffset,
    onChange: (instance) => {
      end.follow()
      place.note(instance)
      setAtEnd(instance.isAtEnd(nearEnd))
    },
  })
  useFollow(end, virtualizer.getTotalSize())
  useKeepPlace(place, virtualizer, rows)
  return { virtualizer, end, atEnd }
}
