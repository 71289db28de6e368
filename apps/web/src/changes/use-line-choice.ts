import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type RefObject,
  useRef,
  useState,
} from 'react'
import { afterLongPress } from '../base/long-press.ts'
import type { DiffLine, Hunk } from '../parts/diff/lines.logic.ts'

/** Adjacent lines of one hunk, by their indexes. `open`: the last line is still to be tapped. */
export type LineChoice = {
  readonly hunk: number
  readonly from: number
  readonly to: number
  readonly open?: true
}
type Place = { readonly hunk: number; readonly line: number }

/** The name of a line in the attribute `data-at`. */
export const placeName = (hunk: number, line: number) => `${hunk}:${line}`

function placeIn(element: Element | null | undefined): Place | undefined {
  const [hunk, line] = element?.getAttribute('data-at')?.split(':').map(Number) ?? []
  return hunk === undefined || line === undefined ? undefined : { hunk, line }
}

export const isChosen = (choice: LineChoice | undefined, hunk: number, line: number) =>
  choice?.hunk === hunk && choice.from <= line && line <= choice.to

type Options = {
  readonly hunks: readonly Hunk[]
  readonly place: RefObject<HTMLElement | null>
  readonly onEdit: (lines: readonly DiffLine[]) => void
}

/**
 * Chooses the lines of a remark: with the mouse by a click, a drag or a click with Shift on line numbers, and with the
 * arrow keys and Shift between rows. On a touch screen, a long press on the number of the first line begins a choice, and
 * a tap on the number of the last line ends it. Rows and line numbers have the attribute `data-at`.
 */
export function useLineChoice({ hunks, place, onEdit }: Options) {
  const [choice, setChoice] = useState<LineChoice>()
  const anchor = useRef<Place>(undefined)
  const wasPressed = useRef(false)

  const extendTo = (to: Place | undefined): LineChoice | undefined => {
    const from = anchor.current
    if (!from || !to || from.hunk !== to.hunk) return undefined
    const [first, last] = [Math.min(from.line, to.line), Math.max(from.line, to.line)]
    const next = { hunk: from.hunk, from: first, to: last }
    setChoice(next)
    return next
  }
  const edit = ({ hunk, from, to }: LineChoice) => {
    const lines = hunks[hunk]?.lines.slice(from, to + 1) ?? []
    setChoice(undefined)
    if (lines.length > 0) onEdit(lines)
  }
  /** A click on a line number. The click at the end of a long press does not count. */
  const onChoose = (at: Place) => {
    if (wasPressed.current) return
    const single = { hunk: at.hunk, from: at.line, to: at.line }
    if (choice?.open) edit(extendTo(at) ?? single)
    else edit(isChosen(choice, at.hunk, at.line) && choice ? choice : single)
  }

  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    const number = (event.target as Element).closest('td[data-at]')
    const at = placeIn(number)
    wasPressed.current = false
    if (!number || !at || event.button !== 0) return
    // On a touch screen, a drag scrolls.
    if (event.pointerType === 'touch')
      return afterLongPress(event, () => {
        wasPressed.current = true
        anchor.current = at
        setChoice({ hunk: at.hunk, from: at.line, to: at.line, open: true })
      })
    event.preventDefault()
    if (event.shiftKey && extendTo(at)) return
    anchor.current = at
    setChoice(undefined)
    followDrag(number, { extendTo, edit })
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const row = (event.target as Element).closest<HTMLElement>('tr[data-at]')
    const at = placeIn(row)
    if (!row || !at || event.ctrlKey || event.metaKey || event.altKey) return
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape' && choice) setChoice(undefined)
    else if (by !== undefined && event.target === row) {
      const next = neighbour(place.current, row, by)
      if (!event.shiftKey) setChoice(undefined)
      if (event.shiftKey && !choice) anchor.current = at
      if (event.shiftKey && !extendTo(placeIn(next))) return event.preventDefault()
      next?.focus({ preventScroll: true })
      next?.scrollIntoView({ block: 'nearest' })
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  /** The menu that a browser opens on a long press would cover the lines. */
  const onContextMenu = (event: MouseEvent<HTMLElement>) => {
    if (wasPressed.current) event.preventDefault()
  }
  return {
    choice,
    onChoose,
    onCancel: () => setChoice(undefined),
    handlers: { onPointerDown, onKeyDown, onContextMenu },
  }
}

function neighbour(place: HTMLElement | null, row: HTMLElement, by: number): HTMLElement | undefined {
  const rows = [...(place?.querySelectorAll<HTMLElement>('tr[data-at]') ?? [])]
  return rows[rows.indexOf(row) + by]
}

type Drag = {
  readonly extendTo: (to: Place | undefined) => LineChoice | undefined
  readonly edit: (choice: LineChoice) => void
}

/** Follows the pointer until its button is released. A drag over several lines opens the form. */
function followDrag(start: Element, { extendTo, edit }: Drag): void {
  const controller = new AbortController()
  const { signal } = controller
  const column = [...(start.parentElement?.children ?? [])].indexOf(start)
  let chosen: LineChoice | undefined
  const move = ({ clientX, clientY }: globalThis.PointerEvent) => {
    const row = document.elementFromPoint(clientX, clientY)?.closest('tr[data-at]')
    if (!row || row === start.parentElement) return
    const number = row.children[column]
    chosen = extendTo(placeIn(number?.hasAttribute('data-at') ? number : row)) ?? chosen
  }
  addEventListener('pointermove', move, { signal })
  addEventListener(
    'pointerup',
    () => {
      controller.abort()
      if (chosen && chosen.from < chosen.to) edit(chosen)
    },
    { signal },
  )
  addEventListener('pointercancel', () => controller.abort(), { signal })
}
