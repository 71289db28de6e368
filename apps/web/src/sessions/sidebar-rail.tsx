import { Inbox, PanelLeftOpen, Plus, Search, Settings } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Route } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { useShortcut } from '../base/shortcuts.ts'
import { IconButton } from '../parts/button.tsx'
import { pageDialog } from '../parts/dialog.tsx'
import { Link } from '../parts/link.tsx'
import { useWaiting } from '../session-data/waiting-list.ts'
import { focusAfterToggle, toggleSidebar, withShortcut } from './collapse.ts'

/** The collapsed session list: a narrow bar of buttons, which still shows the number of open requests. */
export default function SidebarRail() {
  const waiting = useWaiting().requests.length
  const decides = useMay('decide')
  const starts = useMay('prompt')
  const keys = useShortcut('sidebar')
  return (
    <nav aria-label="Sessions" className="flex h-full flex-col items-center gap-1 bg-side pt-2.5">
      <IconButton
        label={withShortcut('Expand the session list', keys)}
        ref={focusAfterToggle}
        onClick={toggleSidebar}
      >
        <PanelLeftOpen size={16} />
      </IconButton>
      {starts && (
        <RailLink to={{ name: 'new' }} label="New session">
          <Plus size={16} />
        </RailLink>
      )}
      <RailLink to={{ name: 'inbox' }} label={waiting > 0 ? `Inbox, ${waiting} waiting` : 'Inbox'}>
        <Inbox size={16} />
        {waiting > 0 && (
          <span
            aria-hidden
            className={`absolute -top-0.5 -right-0.5 min-w-4 rounded-full px-1 text-center text-xs leading-4 font-semibold ${decides ? 'bg-wait-fill text-[#2b1c00]' : 'bg-hover text-soft'}`}
          >
            {waiting}
          </span>
        )}
      </RailLink>
      <IconButton label="Search" onClick={() => pageDialog.set('palette')}>
        <Search size={16} />
      </IconButton>
      <RailLink to={{ name: 'settings' }} label="Settings" className="mt-auto mb-2">
        <Settings size={16} />
      </RailLink>
    </nav>
  )
}

type RailLinkProps = { to: Route; label: string; className?: string; children: ReactNode }

function RailLink({ to, label, className = '', children }: RailLinkProps) {
  const isCurrent = useRoute().name === to.name
  return (
    <Link
      to={to}
      aria-label={label}
      title={label}
      aria-current={isCurrent ? 'page' : undefined}
      className={`relative inline-flex size-7 items-center justify-center rounded-md pointer-coarse:size-11 ${isCurrent ? 'bg-hover text-ink' : 'text-soft hover:bg-hover hover:text-ink'} ${className}`}
    >
      {children}
    </Link>
  )
}
