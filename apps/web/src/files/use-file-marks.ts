import { type RefObject, useEffect } from 'react'
import type { CodeMatch } from './rows.logic.ts'

type Found = {
  readonly found: readonly CodeMatch[]
  readonly now: CodeMatch | undefined
  readonly length: number
}

const names = ['file-find', 'file-find-now'] as const

/** Marks the matches in the rendered rows without changing elements. Rows are rendered anew while the list is scrolled. */
export function useFileMarks(place: RefObject<HTMLElement | null>, { found, now, length }: Found): void {
  // Runs after each rendering, because other rows may be rendered.
  useEffect(() => {
    if (!('highlights' in CSS) || !place.current) return
    const rows = new Map<number, HTMLElement>()
    for (const row of place.current.querySelectorAll<HTMLElement>('[data-index]'))
      rows.set(Number(row.dataset.index), row)
    const ranges = found.flatMap((match) => rangeOf(rows.get(match.row), match, length) ?? [])
    const here = now && rangeOf(rows.get(now.row), now, length)
    CSS.highlights.set(names[0], new Highlight(...ranges))
    CSS.highlights.set(names[1], here ? new Highlight(here) : new Highlight())
  })
  useEffect(
    () => () => {
      if ('highlights' in CSS) for (const name of names) CSS.highlights.delete(name)
    },
    [],
  )
}

function rangeOf(row: HTMLElement | undefined, { at }: CodeMatch, length: number): Range | undefined {
  const code = row?.querySelector('code')
  if (!code) return undefined
  const [start, end] = [placeIn(code, at), placeIn(code, at + length)]
  if (!start || !end) return undefined
  const range = new Range()
  range.setStart(start.node, start.offset)
  range.setEnd(end.node, end.offset)
  return range
}

/**
 * The text node that contains an offset of the row's text; the end of the last text node if the offset is too
 * large.
 */
function placeIn(code: Element, at: number): { node: Node; offset: number } | undefined {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
  let passed = 0
  let last: Node | undefined
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.nodeValue?.length ?? 0
    if (at <= passed + length) return { node, offset: at - passed }
    passed += length
    last = node
  }
  return last && { node: last, offset: last.nodeValue?.length ?? 0 }
}
