import { X } from 'lucide-react'
import { type CSSProperties, lazy, Suspense } from 'react'
import { type Preferences, prefer } from '../page/preferences.ts'
import { IconButton } from '../parts/button.tsx'
import { PanelEdge, usePanelWidth } from './panel-width.tsx'
import { PlanPanel } from './plan-panel.tsx'

const ChangesPanel = lazy(() => import('../changes/changes-panel.tsx'))
const TerminalPanel = lazy(() => import('../terminal/terminal-panel.tsx'))
const EventsPanel = lazy(() => import('../inspector/events-panel.tsx'))
const titles = {
  plan: 'Plan',
  events: 'Events as recorded',
  changes: 'Changes',
  terminal: 'Terminals',
  none: '',
}

const wide = 'w-[var(--panel-width,min(42vw,44rem))] max-lg:w-[min(46rem,100vw)]'
const narrow = 'w-[var(--panel-width,24rem)] max-lg:w-[min(26rem,100vw)]'
const widths = { plan: narrow, events: narrow, changes: wide, terminal: wide }

/** Beside the conversation where there is room, over it on a phone. */
export function SidePanel({ panel }: { panel: Exclude<Preferences['sidePanel'], 'none'> }) {
  const width = usePanelWidth(panel)
  return (
    <aside
      aria-label={titles[panel]}
      style={width === undefined ? undefined : ({ '--panel-width': `${width}px` } as CSSProperties)}
      className={`relative flex shrink-0 flex-col border-l border-line bg-side max-lg:fixed max-lg:inset-y-0 max-lg:right-0 max-lg:z-30 max-lg:shadow-2xl ${widths[panel]}`}
    >
      <PanelEdge panel={panel} label={titles[panel]} />
      <header className="flex min-h-12 items-center border-b border-line pr-2 pl-4">
        <h2 className="flex-1 text-sm font-semibold">{titles[panel]}</h2>
        <IconButton label="Close panel" onClick={() => prefer({ sidePanel: 'none' })}>
          <X size={16} />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={-1}>
        {panel === 'plan' && <PlanPanel />}
        <Suspense fallback={<p className="p-4 text-sm text-faint">Loading…</p>}>
          {panel === 'events' && <EventsPanel />}
          {panel === 'changes' && <ChangesPanel />}
          {panel === 'terminal' && <TerminalPanel />}
        </Suspense>
      </div>
    </aside>
  )
}
