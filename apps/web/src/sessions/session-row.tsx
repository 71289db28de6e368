import type { SessionSummary } from '@parley/protocol'
import { Ellipsis } from 'lucide-react'
import { lazy, memo, Suspense, useLayoutEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { useFocusBack } from '../base/focus.ts'
import { ago, folderName, visible } from '../base/format.logic.ts'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Link } from '../parts/link.tsx'
import { Menu } from '../parts/menu.tsx'
import { toastError } from '../parts/toasts.tsx'
import { failureText } from '../session-data/failure-text.logic.ts'
import { StatusMark } from './status-mark.tsx'
import { WaitingCount } from './waiting-count.tsx'

const RowMachine = lazy(() => import('./row-machine.tsx'))
const rowMenu = lazyPart(() => import('./row-menu.tsx'))

type Props = {
  session: SessionSummary
  agentName: string
  current: boolean
  unread: boolean
  now: number
  /** True for the row that Tab reaches. The arrow keys reach the others. */
  tabStop: boolean
  /** Called when the row is removed while it has the focus. */
  onFocusLost: (id: string) => void
}

export const SessionRow = memo(function SessionRow(props: Props) {
  const { session, current, onFocusLost } = props
  const [renaming, setRenaming] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  useFocusBack(renaming, () => row.current?.querySelector('a'))
  useLayoutEffect(() => {
    const element = row.current
    return () => {
      if (element?.contains(document.activeElement)) onFocusLost(session.id)
    }
  }, [session.id, onFocusLost])
  return (
    <li
      ref={row}
      data-session={session.id}
      className={`group relative flex rounded-md ${current ? 'bg-hover' : 'hover:bg-hover/60'} ${session.archived ? 'opacity-75' : ''}`}
    >
      {renaming ? (
        <RenameField session={session} onDone={() => setRenaming(false)} />
      ) : (
        <RowLink {...props} />
      )}
      <Menu
        label={`Menu of ${session.title || 'Untitled'}`}
        tabIndex={-1}
        className="absolute! right-1 bottom-0.5 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 aria-expanded:opacity-100 pointer-coarse:right-0 pointer-coarse:bottom-2 pointer-coarse:opacity-100"
        part={rowMenu}
        list={(RowMenu, menu) => <RowMenu {...menu} session={session} onRename={() => setRenaming(true)} />}
      >
        <Ellipsis size={15} />
      </Menu>
    </li>
  )
})

function RowLink({ session, agentName, current, unread, now, tabStop }: Omit<Props, 'onFocusLost'>) {
  const title = visible(session.title) || 'Untitled'
  const failed = failureText(session)
  return (
    <Link
      to={{ name: 'session', id: session.id }}
      aria-current={current ? 'page' : undefined}
      tabIndex={tabStop ? 0 : -1}
      className="flex min-w-0 flex-1 gap-1 rounded-md py-1.5 pr-2 pl-1 pointer-coarse:py-2.5 pointer-coarse:pr-11"
    >
      <StatusMark session={session} unread={unread} />
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className={`truncate text-sm ${unread || session.waiting > 0 ? 'font-semibold' : ''}`}>
            {title}
          </span>
          {session.waiting > 0 && <WaitingCount count={session.waiting} isShort />}
        </span>
        <span className="flex text-xs text-faint">
          {/* Truncated as one text: a few letters of each fact would say nothing. */}
          <span className="mr-1 min-w-0 truncate *:mr-0.5">
            {failed !== undefined && (
              // Hidden from screen readers: the status mark has the same text.
              <span aria-hidden className="font-medium text-bad" title={session.failure?.message}>
                {failed}
              </span>
            )}{' '}
            {session.paused !== undefined && (
              <span className="font-medium text-wait">{session.paused} paused</span>
            )}{' '}
            {session.archived && <span>Archived</span>} <span>{agentName}</span>{' '}
            <span title={session.cwd}>{folderName(session.cwd)}</span>{' '}
          </span>
          {session.place !== undefined && (
            <Suspense>
              <RowMachine place={session.place} />
            </Suspense>
          )}
          <span className="ml-auto shrink-0 pl-1 tabular-nums group-focus-within:invisible group-hover:invisible pointer-coarse:visible!">
            {session.pinned ? '' : ago(session.updatedAt, now)}
          </span>
        </span>
      </span>
    </Link>
  )
}

type RenameFieldProps = { session: { id: string; title: string }; onDone: () => void }

export function RenameField({ session, onDone }: RenameFieldProps) {
  const save = (title: string) => {
    onDone()
    if (title.trim() === '' || title === session.title) return
    client.call('patchSession', { params: { id: session.id }, body: { title } }).catch(toastError)
  }
  return (
    <input
      // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to rename
      autoFocus
      aria-label="Title"
      defaultValue={session.title}
      maxLength={200}
      className="field m-1 flex-1"
      onFocus={(event) => event.target.select()}
      onBlur={(event) => save(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return
        // Otherwise the element that gets the focus back would also receive the key.
        event.preventDefault()
        if (event.key === 'Enter') save(event.currentTarget.value)
        else onDone()
      }}
    />
  )
}
