import { type RefObject, useLayoutEffect, useRef } from 'react'
import type { Row } from './rows.logic.ts'
import type { TimelineVirtualizer } from './timeline.tsx'

type Place = { readonly key: string; readonly fromTop: number }

/**
 * Keeps what is on screen where it is when rows come above it. The list does so by its topmost row; but that one may
 * have become part of a fold, and then the first of the rows below it that is still there must do.
 */
export function useKeepPlace(
  virtualizer: TimelineVirtualizer,
  rows: readonly Row[],
  scroller: RefObject<HTMLDivElement | null>,
): void {
  const before = useRef<{ first: string | undefined; places: readonly Place[] }>({
    first: undefined,
    places: [],
  })
  const first = rows[0]?.key
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const { first: firstBefore, places } = before.current
    if (firstBefore !== undefined && first !== firstBefore) restore(virtualizer, rows, { element, places })
    const top = virtualizer.scrollOffset ?? element.scrollTop
    const items = virtualizer.getVirtualItems().filter((item) => item.end > top)
    before.current = {
      first,
      places: items.map((item) => ({ key: String(item.key), fromTop: item.start - top })),
    }
  })
}

function restore(
  virtualizer: TimelineVirtualizer,
  rows: readonly Row[],
  { element, places }: { element: HTMLDivElement; places: readonly Place[] },
): void {
  const indexes = new Map(rows.map((row, index) => [row.key, index]))
  const place = places.find(({ key }) => indexes.has(key))
  const item = place && virtualizer.measurementsCache[indexes.get(place.key) ?? -1]
  if (!item) return
  const wanted = item.start - place.fromTop
  if (Math.abs(wanted - element.scrollTop) > 2) virtualizer.scrollToOffset(wanted)
}
