import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { type Preferences, preferences, setPreferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { panelWidthWithin } from './panel-width.logic.ts'

type Panel = Exclude<Preferences['sidePanel'], 'none'>

export function usePanelWidth(panel: Panel): number | undefined {
  return useStore(preferences, (state) => state.panelWidths[panel])
}

/** The edge of a panel, which is dragged or moved by the arrow keys. The width is stored for each panel. */
export function PanelEdge({ panel, label }: { panel: Panel; label: string }) {
  const edge = useRef<HTMLDivElement>(null)
  const width = usePanelWidth(panel)
  const set = (wanted: number) =>
    setPreferences({
      panelWidths: { ...preferences.get().panelWidths, [panel]: panelWidthWithin(wanted, innerWidth) },
    })
  const now = () => width ?? edge.current?.parentElement?.getBoundingClientRect().width ?? 0
  const onPointerDown = (event: PointerEvent) => {
    event.preventDefault()
    edge.current?.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: PointerEvent) => {
    if (edge.current?.hasPointerCapture(event.pointerId)) set(innerWidth - event.clientX)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: 32, ArrowRight: -32 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    set(now() + by)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot be moved
    <div
      ref={edge}
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${label}`}
      aria-valuenow={Math.round(now())}
      aria-valuemin={panelWidthWithin(0, innerWidth)}
      aria-valuemax={panelWidthWithin(Number.POSITIVE_INFINITY, innerWidth)}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
      onDoubleClick={() =>
        setPreferences({ panelWidths: { ...preferences.get().panelWidths, [panel]: undefined } })
      }
      title="Drag to resize; double-click to reset"
      className="absolute inset-y-0 -left-1 z-20 w-2 cursor-col-resize touch-none outline-none hover:bg-mark-fill/30 focus-visible:bg-mark-fill/50 max-lg:hidden"
    />
  )
}
