import { X } from 'lucide-react'
import { type CSSProperties, useEffect } from 'react'
import { type Preferences, setPreferences } from '../base/preferences.ts'
import { IconButton } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { PanelEdge, usePanelWidth } from './panel-width.tsx'

const lazyPanels = {
  plan: lazyPart(() => import('../plan/plan-panel.tsx')),
  events: lazyPart(() => import('../inspector/events-panel.tsx')),
  changes: lazyPart(() => import('../changes/changes-panel.tsx')),
  terminal: lazyPart(() => import('../terminal/terminal-panel.tsx')),
}
const titles = {
  plan: 'Plan',
  events: 'Event log',
  changes: 'Changes',
  terminal: 'Terminals',
  none: '',
}

const wide = 'w-[var(--panel-width,min(42vw,44rem))] max-lg:w-[48vw] max-md:w-screen'
const narrow = 'w-[var(--panel-width,24rem)] max-lg:w-[40vw] max-md:w-screen'
const widths = { plan: narrow, events: narrow, changes: wide, terminal: wide }

const inHistory = { panel: true }

/** On a narrow screen the panel covers the conversation: the browser's Back closes the panel, not the session. */
function useCloseOnBack(): void {
  useEffect(() => {
    if (!matchMedia('(width < 48rem)').matches) return
    history.pushState(inHistory, '')
    const close = () => setPreferences({ sidePanel: 'none' })
    addEventListener('popstate', close)
    return () => {
      removeEventListener('popstate', close)
      // Closed in another way: remove the panel's history entry.
      if (history.state?.panel) history.back()
    }
  }, [])
}

/**
 * A panel beside the conversation; on a phone, over it. On medium screens the session list is hidden (app.tsx looks
 * for `data-panel`).
 */
export function SidePanel({ panel }: { panel: Exclude<Preferences['sidePanel'], 'none'> }) {
  const width = usePanelWidth(panel)
  useCloseOnBack()
  return (
    <aside
      aria-label={titles[panel]}
      data-panel={panel}
      style={width === undefined ? undefined : ({ '--panel-width': `${width}px` } as CSSProperties)}
      className={`relative flex shrink-0 flex-col border-l border-line bg-side max-md:fixed max-md:inset-y-0 max-md:right-0 max-md:z-30 max-md:shadow-2xl ${widths[panel]}`}
    >
      <PanelEdge panel={panel} label={titles[panel]} />
      <header className="flex min-h-12 items-center border-b border-line pr-2 pl-4">
        <h2 className="flex-1 text-sm font-semibold">{titles[panel]}</h2>
        <IconButton label="Close panel" onClick={() => setPreferences({ sidePanel: 'none' })}>
          <X size={16} />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={-1}>
        <Lazy
          key={panel}
          part={lazyPanels[panel]}
          waiting={<p className="p-4 text-sm text-faint">Loading…</p>}
        >
          {(Panel) => <Panel />}
        </Lazy>
      </div>
    </aside>
  )
}
