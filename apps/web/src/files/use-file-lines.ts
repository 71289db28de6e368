import { type KeyboardEvent, type MouseEvent, type PointerEvent, useRef, useState } from 'react'
import { isEditable } from '../base/focus.ts'
import { afterLongPress } from '../base/long-press.ts'
import { preferences } from '../base/preferences.ts'
import type { SessionRoute } from '../base/route.logic.ts'
import { replaceRoute } from '../base/route.ts'

/** Lines that follow each other. `open`: the last line is still to be tapped. */
export type LineRange = { readonly from: number; readonly to: number; readonly open?: true }

type Options = {
  readonly route: SessionRoute
  readonly lines: number
  /** Whether remarks can be written. */
  readonly enabled: boolean
  readonly onRemark: (range: LineRange) => void
}

/**
 * Chooses lines of a file: a click on a number, then a click with Shift, or the arrow keys with Shift; on a touch screen a
 * long press on the first number, then a tap on the last one. The line of the address is the first one.
 */
export function useFileLines({ route, lines, enabled, onRemark }: Options) {
  const [chosen, setChosen] = useState<LineRange & { readonly anchor: number }>()
  const wasPressed = useRef(false)
  const { line } = route
  // Another address ends the choice.
  const range = chosen?.anchor === line ? chosen : undefined
  const extendTo = (to: number): LineRange | undefined => {
    if (line === undefined) return undefined
    const next = { from: Math.min(line, to), to: Math.max(line, to) }
    setChosen({ ...next, anchor: line })
    return next
  }
  const goTo = (to: number) => {
    setChosen(undefined)
    replaceRoute({ ...route, line: to })
  }
  const onNumber = (event: MouseEvent, to: number) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return
    event.preventDefault()
    if (wasPressed.current) return
    const next = enabled && (event.shiftKey || range?.open) ? extendTo(to) : undefined
    if (next) onRemark(next)
    else goTo(to)
  }
  const onPointerDown = (event: PointerEvent) => {
    wasPressed.current = false
    const number = (event.target as Element).closest<HTMLElement>('a[data-line]')
    const at = Number(number?.dataset.line)
    if (!enabled || !number || event.pointerType !== 'touch') return
    afterLongPress(event, () => {
      wasPressed.current = true
      replaceRoute({ ...route, line: at })
      setChosen({ from: at, to: at, open: true, anchor: at })
    })
  }
  const onContextMenu = (event: MouseEvent) => {
    if (wasPressed.current) event.preventDefault()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!enabled || event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target)) return
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'c' && preferences.get().singleKeys && line !== undefined)
      onRemark(range ?? { from: line, to: line })
    else if (by !== undefined && event.shiftKey && line !== undefined) {
      const end = range === undefined || range.to === line ? (range?.from ?? line) : range.to
      extendTo(Math.max(1, Math.min(lines, end + by)))
    } else if (event.key === 'Escape' && range) setChosen(undefined)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return {
    range,
    onNumber,
    onCancel: () => setChosen(undefined),
    handlers: { onPointerDown, onContextMenu, onKeyDown },
  }
}
