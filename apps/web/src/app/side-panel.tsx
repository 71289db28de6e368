import { X } from 'lucide-react'
import {
  type CSSProperties,
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useRef,
} from 'react'
import { type Preferences, preferences, setPreferences } from '../base/preferences.ts'
import { currentRoute, hrefOf, inPanel, panelDepth } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { IconButton } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { panelWidthWithin } from './panel-width.logic.ts'

const wide = 'w-[var(--panel-width,min(42vw,44rem))] max-lg:w-[48vw] max-md:w-screen'
const narrow = 'w-[var(--panel-width,24rem)] max-lg:w-[40vw] max-md:w-screen'

const panels = {
  plan: { title: 'Plan', width: narrow, part: lazyPart(() => import('../plan/plan-panel.tsx')) },
  events: {
    title: 'Event log',
    width: narrow,
    part: lazyPart(() => import('../inspector/events-panel.tsx')),
  },
  changes: { title: 'Changes', width: wide, part: lazyPart(() => import('../changes/changes-panel.tsx')) },
  files: { title: 'Files', width: wide, part: lazyPart(() => import('../files/files-panel.tsx')) },
  terminal: {
    title: 'Terminals',
    width: wide,
    part: lazyPart(() => import('../terminal/terminal-panel.tsx')),
  },
}

/**
 * On a narrow screen, where the panel covers the conversation, makes the browser's Back close the panel, not the
 * session. When the panel is closed in another way, removes its entries from the browser's history.
 */
function useCloseOnBack(): void {
  useEffect(() => {
    const isNarrow = matchMedia('(width < 48rem)').matches
    if (isNarrow && panelDepth() === 0) addToHistory()
    const close = () => panelDepth() === 0 && setPreferences({ sidePanel: 'none' })
    if (isNarrow) addEventListener('popstate', close)
    return () => {
      removeEventListener('popstate', close)
      if (panelDepth() > 0 && preferences.get().sidePanel === 'none') history.go(-panelDepth())
    }
  }, [])
}

/**
 * The browser's Back button returns from a file to the conversation, even if the page was opened with the
 * address of the file.
 */
function addToHistory(): void {
  const { href } = location
  const here = currentRoute()
  if (here.name === 'session' && here.file !== undefined)
    history.replaceState(null, '', hrefOf({ name: 'session', id: here.id }))
  history.pushState(inPanel(1), '', href)
}

/**
 * A panel beside the conversation. On a phone it covers the conversation. On medium screens the session list is
 * hidden (app.tsx looks for `data-panel`).
 */
export default function SidePanel({ panel }: { panel: Panel }) {
  const { title, width, part } = panels[panel]
  const chosenWidth = usePanelWidth(panel)
  const place = useRef<HTMLElement>(null)
  useToastsBeside(place)
  const opensTerminals = useMay('terminal')
  useCloseOnBack()
  return (
    <aside
      ref={place}
      aria-label={title}
      data-panel={panel}
      style={
        chosenWidth === undefined ? undefined : ({ '--panel-width': `${chosenWidth}px` } as CSSProperties)
      }
      className={`relative flex shrink-0 flex-col border-l border-line bg-side max-md:fixed max-md:inset-y-0 max-md:right-0 max-md:z-30 max-md:shadow-2xl ${width}`}
    >
      <PanelEdge panel={panel} label={title} />
      <header className="flex min-h-12 items-center border-b border-line pr-2 pl-4">
        <h2 className="flex-1 text-sm font-semibold">{title}</h2>
        <IconButton label="Close panel" onClick={() => setPreferences({ sidePanel: 'none' })}>
          <X size={16} />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={-1}>
        {panel === 'terminal' && !opensTerminals ? (
          <NeedsScope what="A terminal" scope="terminal" className="p-4" />
        ) : (
          <Lazy key={panel} part={part} waiting={<p className="p-4 text-sm text-faint">Loading…</p>}>
            {(Panel) => <Panel />}
          </Lazy>
        )}
      </div>
    </aside>
  )
}

/** Keeps toasts off the panel, whose controls begin where toasts are shown. */
function useToastsBeside(place: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const { style } = document.documentElement
    const observer = new ResizeObserver(() =>
      style.setProperty('--beside-panel', `${place.current?.offsetWidth ?? 0}px`),
    )
    if (place.current) observer.observe(place.current)
    return () => {
      observer.disconnect()
      style.removeProperty('--beside-panel')
    }
  }, [place])
}

type Panel = Exclude<Preferences['sidePanel'], 'none'>

function usePanelWidth(panel: Panel): number | undefined {
  return useStore(preferences, (state) => state.panelWidths[panel])
}

/** The edge of a panel, which can be dragged or moved with the arrow keys. The width is stored for each panel. */
function PanelEdge({ panel, label }: { panel: Panel; label: string }) {
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
