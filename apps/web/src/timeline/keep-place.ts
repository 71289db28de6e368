import type { Virtualizer } from '@tanstack/react-virtual'
import { type RefObject, useLayoutEffect, useState } from 'react'
import type { Row } from './rows.logic.ts'
import type { EndKeeper } from './stay-at-end.ts'

type List = Virtualizer<HTMLDivElement, HTMLDivElement>
type Place = { readonly key: string; readonly fromTop: number }

/**
 * Keeps the visible rows in place when rows are added above them. The list anchors to its topmost row, but that row may
 * have become part of a group. Then the first row below it that still exists is the anchor.
 */
export type PlaceKeeper = {
  /** Must be called whenever rows were moved. */
  note(list: List): void
  /** Must be called whenever rows were rendered. */
  keep(list: List, rows: readonly Row[], atEnd: boolean): void
}

export function usePlaceKeeper(scroller: RefObject<HTMLDivElement | null>): PlaceKeeper {
  const [keeper] = useState(() => createPlaceKeeper(scroller))
  return keeper
}

/** Restores the place after each render, except for a reader who follows the end. */
export function useKeepPlace(
  { keep }: PlaceKeeper,
  list: List,
  rows: readonly Row[],
  { isStaying }: EndKeeper,
): void {
  useLayoutEffect(() => keep(list, rows, isStaying()))
}

function createPlaceKeeper(scroller: RefObject<HTMLDivElement | null>): PlaceKeeper {
  let first: string | undefined
  let places: readonly Place[] = []

  function note(list: List): void {
    const top = list.scrollOffset ?? 0
    // The positions of rows that were just added are not what the reader saw.
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
