import type { SessionListSnapshot } from '@parley/client'
import { useSessions } from '@parley/client/react'
import type { SessionSummary } from '@parley/protocol'
import { Archive, Inbox, Plus, Search, Settings } from 'lucide-react'
import {
  type FocusEvent,
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useDeferredValue,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { useAgentNames } from '../base/agents.ts'
import { useNow } from '../base/clock.ts'
import { errorText } from '../base/error-text.logic.ts'
import { focusSearch, isEditable } from '../base/focus.ts'
import { dayOf } from '../base/format.logic.ts'
import type { Route } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { ConnectionNote } from '../parts/connection-note.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { Link } from '../parts/link.tsx'
import { Shortcut } from '../parts/shortcut.tsx'
import { isUnread } from '../session-data/seen.logic.ts'
import { useSeen } from '../session-data/seen.ts'
import { useCachedSessions } from '../session-data/session-list.ts'
import { useWaiting } from '../session-data/waiting-list.ts'
import { useDeleting } from './deleting.ts'
import { neighbourOf } from './neighbour.logic.ts'
import { SessionRow } from './session-row.tsx'
import { WaitingCount } from './waiting-count.tsx'

const foundPart = lazyPart(() => import('./found-messages.tsx'))

export function Sidebar() {
  const [typed, setTyped] = useState('')
  const [archived, setArchived] = useState(false)
  const q = useDeferredValue(typed.trim())
  const list = useSessions({
    ...(q !== '' && { q }),
    archived: q !== '' ? 'all' : archived ? 'true' : 'false',
  })
  return (
    <nav aria-label="Sessions" className="flex h-full min-h-0 flex-col bg-side">
      {/* Only on a phone, where the list is a page of its own. On wider screens the page beside the list has the
          heading. */}
      <h1 className="sr-only md:hidden">Sessions</h1>
      <SidebarHead />
      <div className="flex items-center gap-1 px-2.5 pb-1.5">
        <label className="flex min-w-0 flex-1 items-center gap-1.5 rounded-md border border-line bg-card px-2 text-soft focus-within:border-mark">
          <Search size={14} aria-hidden />
          <input
            type="search"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={toFirstRow}
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
      <SessionRows list={list} emptyText={emptyText({ q, archived })}>
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
  return (
    <div className="px-2.5 pt-3 pb-2">
      <div className="flex items-center pr-0.5 pb-2 pl-1.5">
        <Link
          to={{ name: 'home' }}
          className="flex items-center text-[1.0625rem] font-semibold tracking-tight pointer-coarse:min-h-11"
        >
          Parley
        </Link>
        <Link
          to={{ name: 'settings' }}
          aria-label="Settings"
          title="Settings"
          className="ml-auto inline-flex size-7 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink pointer-coarse:size-11"
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

type RowsProps = { list: Shown; emptyText: string; children: ReactNode }

function SessionRows({ list, emptyText, children }: RowsProps) {
  const route = useRoute()
  const seen = useSeen()
  const deleting = useDeleting()
  const now = useNow()
  const agentName = useAgentNames()
  const cached = useCachedSessions()
  const known = list.status === 'loading' && list.error ? cached : list.sessions
  const shown = known.filter((session) => !deleting.has(session.id))
  const sections = sectionsOf(shown, now)
  const here = route.name === 'session' ? route.id : undefined
  const { stop, ...roving } = useRovingTabStop(shown, here)
  const { rows, onFocusLost } = useFocusInRows(shown)
  return (
    <div
      {...roving}
      ref={rows}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain px-1.5 pb-3"
      tabIndex={-1}
    >
      {shown.length === 0 && list.status !== 'loading' && (
        <p className="px-3 py-6 text-sm text-pretty text-soft">
          {list.status === 'failed' && list.error ? errorText(list.error) : emptyText}
        </p>
      )}
      {sections.map(([name, sessions]) => (
        <section key={name} aria-label={name}>
          <h2 className="px-2.5 pt-2.5 pb-1 text-2xs font-semibold tracking-wide text-faint uppercase">
            {name}
          </h2>
          <ul>
            {sessions.map((session) => (
              <SessionRow
                key={session.id}
                session={session}
                agentName={agentName(session.agent)}
                current={session.id === here}
                unread={session.id !== here && isUnread(session, seen)}
                now={now}
                tabStop={session.id === stop}
                onFocusLost={onFocusLost}
              />
            ))}
          </ul>
        </section>
      ))}
      {list.hasMore && (
        <button
          type="button"
          className="mx-2 my-2 rounded-md px-2 py-1 text-sm text-mark hover:bg-hover"
          onClick={() => void list.loadMore()}
        >
          Show older sessions
        </button>
      )}
      {children}
    </div>
  )
}

/** A session, or a message that a search found. */
const rowSelector = '[data-session],[data-hit]'

/** Down moves from the search field to the first row. */
function toFirstRow(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown') return
  const row = event.currentTarget.closest('nav')?.querySelector(rowSelector)
  if (!row) return
  event.preventDefault()
  row.querySelector('a')?.focus()
}

/** Tab reaches one session. Up and Down move between sessions, Right moves to a session's menu, Left back. */
function useRovingTabStop(shown: readonly SessionSummary[], here: string | undefined) {
  const [last, setLast] = useState<string>()
  const stop = [last, here].find((id) => shown.some((session) => session.id === id)) ?? shown[0]?.id
  const onFocus = ({ target }: FocusEvent) =>
    setLast(target.closest<HTMLElement>('[data-session]')?.dataset.session)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const target = event.target as HTMLElement
    const row = target.closest(rowSelector)
    if (!row || isEditable(target) || target.closest('[role=menu]')) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const rows = [...event.currentTarget.querySelectorAll(rowSelector)]
    const now = rows.indexOf(row)
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: rows.length - 1 }[event.key]
    const found =
      event.key === 'ArrowRight'
        ? row.querySelector('button')
        : (to === undefined ? row : rows[to])?.querySelector('a')
    if (to === undefined && event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return
    event.preventDefault()
    found?.focus()
  }
  return { stop, onFocus, onKeyDown }
}

/** Keeps the focus in the list when the focused row is deleted, archived or moved. */
function useFocusInRows(shown: readonly SessionSummary[]) {
  const rows = useRef<HTMLDivElement>(null)
  const lost = useRef<string>(undefined)
  const before = useRef<readonly string[]>([])
  const onFocusLost = useCallback((id: string) => {
    lost.current = id
  }, [])
  useLayoutEffect(() => {
    const ids = shown.map(({ id }) => id)
    if (lost.current !== undefined) {
      const next = neighbourOf(lost.current, before.current, ids)
      lost.current = undefined
      // Runs after the main area has rendered: the page that replaces a deleted session focuses the prompt field.
      setTimeout(() => {
        const row = next && rows.current?.querySelector<HTMLElement>(`[data-session="${CSS.escape(next)}"] a`)
        if (row) row.focus()
        else focusSearch()
      })
    }
    before.current = ids
  })
  return { rows, onFocusLost }
}

function sectionsOf(sessions: readonly SessionSummary[], now: number): [string, SessionSummary[]][] {
  const sections = new Map<string, SessionSummary[]>()
  for (const session of sessions) {
    const name = session.pinned ? 'Pinned' : dayOf(session.updatedAt, now)
    sections.set(name, [...(sections.get(name) ?? []), session])
  }
  return [...sections]
}
