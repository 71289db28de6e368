import type { SessionListSnapshot } from '@parley/client'
import { useSessions } from '@parley/client/react'
import { Archive, Inbox, PanelLeftClose, Plus, Search, Settings } from 'lucide-react'
import { type ReactNode, useDeferredValue, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import type { Route } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { useShortcut } from '../base/shortcuts.ts'
import { IconButton } from '../parts/button.tsx'
import { ConnectionNote } from '../parts/connection-note.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { Link } from '../parts/link.tsx'
import { Shortcut } from '../parts/shortcut.tsx'
import { useProjects } from '../session-data/projects.ts'
import { listedAtOnce, useCachedSessions } from '../session-data/session-list.ts'
import { useWaiting } from '../session-data/waiting-list.ts'
import { focusAfterToggle, toggleSidebar, withShortcut } from './collapse.ts'
import { useDeleting } from './deleting.ts'
import { SessionTree } from './session-tree.tsx'
import { toFirstItem, useFocusInRows, useRovingTabStop } from './tree-focus.ts'
import { WaitingCount } from './waiting-count.tsx'

const foundPart = lazyPart(() => import('./found-messages.tsx'))

export function Sidebar() {
  const [typed, setTyped] = useState('')
  const [archived, setArchived] = useState(false)
  const q = useDeferredValue(typed.trim())
  const list = useSessions({
    ...(q !== '' && { q }),
    archived: q !== '' ? 'all' : archived ? 'true' : 'false',
    limit: listedAtOnce,
  })
  return (
    <nav aria-label="Sessions" className="flex h-full min-h-0 flex-col bg-side">
      {/* Shown only on a phone, where the list is a page of its own. On wider screens, the page beside the list has the heading. */}
      <h1 className="sr-only md:hidden">Sessions</h1>
      <SidebarHead />
      <div className="flex items-center gap-1 px-2.5 pb-1.5">
        <label className="flex min-w-0 flex-1 items-center gap-1.5 rounded-md border border-line bg-card px-2 text-soft focus-within:border-mark">
          <Search size={14} aria-hidden />
          <input
            type="search"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={toFirstItem}
            placeholder="Search sessions"
            aria-label="Search sessions"
            className="min-w-0 flex-1 bg-transparent py-1 text-sm text-ink outline-none pointer-coarse:py-2.5"
          />
        </label>
        <button
          type="button"
          aria-pressed={archived}
          aria-label="Archived sessions"
          title="Archived sessions"
          onClick={() => setArchived(!archived)}
          className={`inline-flex size-7 items-center justify-center rounded-md pointer-coarse:size-11 ${archived ? 'bg-mark-wash text-mark' : 'text-soft hover:bg-hover'}`}
        >
          <Archive size={15} />
        </button>
      </div>
      <SessionRows list={list} isFlat={q !== ''} emptyText={emptyText({ q, archived })}>
        {q !== '' && <Lazy part={foundPart}>{(FoundMessages) => <FoundMessages typed={typed} />}</Lazy>}
      </SessionRows>
      <ConnectionNote />
    </nav>
  )
}

function emptyText({ q, archived }: { q: string; archived: boolean }): string {
  if (q !== '') return `No session has “${q}” in its title, folder or agent.`
  return archived ? 'No archived sessions.' : 'No sessions yet.'
}

function SidebarHead() {
  const route = useRoute()
  const waiting = useWaiting().requests.length
  const starts = useMay('prompt')
  const keys = useShortcut('sidebar')
  return (
    <div className="px-2.5 pt-3 pb-2">
      <div className="flex items-center pr-0.5 pb-2 pl-1.5">
        <Link
          to={{ name: 'home' }}
          className="flex items-center text-base font-semibold tracking-tight pointer-coarse:min-h-11"
        >
          Parley
        </Link>
        <IconButton
          label={withShortcut('Collapse the session list', keys)}
          ref={focusAfterToggle}
          onClick={toggleSidebar}
          className="ml-auto max-md:hidden"
        >
          <PanelLeftClose size={16} />
        </IconButton>
        <Link
          to={{ name: 'settings' }}
          aria-label="Settings"
          title="Settings"
          className="inline-flex size-7 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink max-md:ml-auto pointer-coarse:size-11"
        >
          <Settings size={16} />
        </Link>
      </div>
      {starts && (
        <HeadLink to={{ name: 'new' }} current={route.name === 'new'} icon={<Plus size={16} />}>
          New session
          <Shortcut action="new" className="ml-auto text-faint" />
        </HeadLink>
      )}
      <HeadLink to={{ name: 'inbox' }} current={route.name === 'inbox'} icon={<Inbox size={16} />}>
        Inbox
        {waiting > 0 && <WaitingCount count={waiting} testId="inbox-count" />}
      </HeadLink>
    </div>
  )
}

type HeadLinkProps = { to: Route; current: boolean; icon: ReactNode; children: ReactNode }

function HeadLink({ to, current, icon, children }: HeadLinkProps) {
  return (
    <Link
      to={to}
      aria-current={current ? 'page' : undefined}
      className={`flex min-h-8 items-center gap-2 rounded-md px-1.5 text-sm pointer-coarse:min-h-11 ${current ? 'bg-hover' : 'hover:bg-hover/60'}`}
    >
      <span className="text-soft">{icon}</span>
      {children}
    </Link>
  )
}

type Shown = SessionListSnapshot & { loadMore(): Promise<void> }

type RowsProps = { list: Shown; isFlat: boolean; emptyText: string; children: ReactNode }

function SessionRows({ list, isFlat, emptyText, children }: RowsProps) {
  const route = useRoute()
  const deleting = useDeleting()
  const projects = useProjects()
  const cached = useCachedSessions()
  const known = list.status === 'loading' && list.error ? cached : list.sessions
  const shown = known.filter((session) => !deleting.has(session.id))
  const here = route.name === 'session' ? route.id : undefined
  const { stop, ...roving } = useRovingTabStop(here)
  const onFocusLost = useFocusInRows()
  return (
    <div {...roving} className="min-h-0 flex-1 overflow-y-auto overscroll-contain px-1.5 pb-3" tabIndex={-1}>
      {shown.length === 0 && list.status !== 'loading' && (
        <p className="px-3 py-6 text-sm text-pretty text-soft">
          {list.status === 'failed' && list.error ? errorText(list.error) : emptyText}
        </p>
      )}
      {shown.length > 0 && (
        <SessionTree
          sessions={shown}
          projects={projects}
          isFlat={isFlat}
          here={here}
          stop={stop}
          onFocusLost={onFocusLost}
        />
      )}
      {list.hasMore && (
        <button
          type="button"
          className="mx-2 my-2 rounded-md px-2 py-1 text-sm text-mark hover:bg-hover pointer-coarse:min-h-11"
          onClick={() => void list.loadMore()}
        >
          Show older sessions
        </button>
      )}
      {children}
    </div>
  )
}
