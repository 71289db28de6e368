import type { SessionSummary } from '@parley/protocol'
import { Columns3, Ellipsis, FolderGit2 } from 'lucide-react'
import { type KeyboardEvent, lazy, memo, Suspense, useId, useLayoutEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { useFocusBack } from '../base/focus.ts'
import { ago, plural, visible } from '../base/format.logic.ts'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Link } from '../parts/link.tsx'
import { Menu } from '../parts/menu.tsx'
import { toastError } from '../parts/toasts.tsx'
import { failureText } from '../session-data/failure-text.logic.ts'
import { isInWorktree } from './groups.logic.ts'
import { StatusMark } from './status-mark.tsx'
import { WaitingCount } from './waiting-count.tsx'

const RowMachine = lazy(() => import('./row-machine.tsx'))
const rowMenu = lazyPart(() => import('./row-menu.tsx'))

type Props = {
  session: SessionSummary
  agentName: string
  /** Whether the row shows the agent, because the row of another session looks like it. */
  showsAgent: boolean
  /** The names of the project and the machine are shown in the row if no heading shows them. */
  projectName: string | undefined
  branch: string | undefined
  level: number
  current: boolean
  unread: boolean
  now: number
  /** True for the row that Tab reaches. The arrow keys reach the others. */
  tabStop: boolean
  /** Called when the row is removed while it has the focus. */
  onFocusLost: (id: string) => void
}

export const SessionRow = memo(function SessionRow(props: Props) {
  const { session, current, level, tabStop, onFocusLost } = props
  const [renaming, setRenaming] = useState(false)
  const row = useRef<HTMLDivElement>(null)
  const nameId = useId()
  useFocusBack(renaming, () => row.current)
  useLayoutEffect(() => {
    const element = row.current
    return () => {
      if (element?.contains(document.activeElement)) onFocusLost(session.id)
    }
  }, [session.id, onFocusLost])
  return (
    <div
      ref={row}
      role="treeitem"
      aria-level={level}
      aria-labelledby={nameId}
      aria-current={current ? 'page' : undefined}
      tabIndex={tabStop ? 0 : -1}
      data-session={session.id}
      onKeyDown={openOnKey}
      className={`group/row relative flex rounded-md focus-visible:-outline-offset-2 ${current ? 'bg-hover' : 'hover:bg-hover/60'} ${session.archived ? 'opacity-75' : ''}`}
    >
      {renaming ? (
        <RenameField session={session} onDone={() => setRenaming(false)} />
      ) : (
        <RowLink {...props} id={nameId} />
      )}
      <Menu
        label={`Menu of ${visible(session.title) || 'Untitled'}`}
        tabIndex={-1}
        className="absolute! right-0.5 top-0 opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 aria-expanded:opacity-100 pointer-coarse:right-0 pointer-coarse:opacity-100"
        part={rowMenu}
        list={(RowMenu, menu) => <RowMenu {...menu} session={session} onRename={() => setRenaming(true)} />}
      >
        <Ellipsis size={15} />
      </Menu>
    </div>
  )
})

/** Enter and Space on a row open its session; the link inside is not a stop of the Tab key. */
function openOnKey(event: KeyboardEvent<HTMLElement>): void {
  if ((event.key !== 'Enter' && event.key !== ' ') || event.target !== event.currentTarget) return
  event.preventDefault()
  event.currentTarget.querySelector('a')?.click()
}

/** Hidden while the menu button is shown in the same place. */
const underMenu = 'group-focus-within/row:invisible group-hover/row:invisible pointer-coarse:visible!'

function RowLink(props: Props & { id: string }) {
  const { session, agentName, current, unread, now, id } = props
  const title = visible(session.title) || 'Untitled'
  return (
    <Link
      id={id}
      to={{ name: 'session', id: session.id }}
      aria-current={current ? 'page' : undefined}
      tabIndex={-1}
      title={`${title}\n${agentName} · ${visible(session.cwd)}`}
      className="flex h-7 min-w-0 flex-1 items-center gap-1 pr-2 pl-1 text-sm outline-none pointer-coarse:h-11 pointer-coarse:pr-11"
    >
      <StatusMark session={session} unread={unread} isFailureBeside />
      <span className={`min-w-8 flex-1 truncate ${unread || session.waiting > 0 ? 'font-semibold' : ''}`}>
        {title}
      </span>
      <span className="flex max-w-3/5 min-w-0 items-center gap-1.5 text-xs text-faint">
        <Facts {...props} />
        <span className={`shrink-0 tabular-nums ${underMenu}`}>{ago(session.updatedAt, now)}</span>
        {session.waiting > 0 && (
          <span className={`flex shrink-0 ${underMenu}`}>
            <WaitingCount count={session.waiting} isShort />
          </span>
        )}
      </span>
      {session.round ? (
        <span className="sr-only"> {roundText(session.round)}</span>
      ) : (
        isInWorktree(session) && <span className="sr-only"> in a worktree</span>
      )}
    </Link>
  )
}

/** The facts that distinguish the session from others of its group. */
function Facts({ session, agentName, showsAgent, projectName, branch }: Props) {
  const failed = failureText(session)
  const hasNews = failed !== undefined || session.paused !== undefined || session.waiting > 0
  // A failure, paused prompts or open requests are shown instead of the numbers of changed lines.
  const changed = hasNews ? undefined : session.changed
  return (
    <>
      {failed !== undefined && (
        <span className="shrink-0 font-medium text-bad" title={session.failure?.message}>
          {failed}
        </span>
      )}
      {session.paused !== undefined && (
        <span className="shrink-0 font-medium text-wait">{session.paused} paused</span>
      )}
      {showsAgent && <span className="max-w-20 min-w-8 truncate">{agentName}</span>}
      {projectName !== undefined && (
        <span className="min-w-0 truncate">
          {session.archived && 'Archived · '}
          {visible(projectName)}
        </span>
      )}
      {projectName !== undefined && session.place !== undefined && (
        <Suspense>
          <RowMachine place={session.place} />
        </Suspense>
      )}
      {changed && changed.added + changed.removed > 0 && (
        <span title={`${plural(changed.files, 'file')} changed since the session began`} className="shrink-0">
          <DiffCount added={changed.added} removed={changed.removed} isShort />
        </span>
      )}
      {session.round && (
        // For screen readers, the end of the row says what the numbers mean.
        <span
          title={roundText(session.round)}
          className={`flex shrink-0 items-center gap-0.5 tabular-nums ${session.round.pick === 'picked' ? 'text-good' : ''}`}
        >
          <Columns3 size={13} aria-hidden />
          {session.round.attempt}/{session.round.count}
        </span>
      )}
      {isInWorktree(session) && !session.round && (
        <span
          aria-hidden
          title={branch === undefined ? 'Worktree' : `Worktree of the branch ${visible(branch)}`}
        >
          <FolderGit2 size={13} />
        </span>
      )}
    </>
  )
}

function roundText({ attempt, count, pick }: NonNullable<SessionSummary['round']>): string {
  const outcome = { picked: ', picked', 'passed-over': ', passed over' }
  return `attempt ${attempt} of ${count}${pick ? outcome[pick] : ''}`
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
      className="field m-0.5 flex-1 py-0!"
      onFocus={(event) => event.target.select()}
      onBlur={(event) => save(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return
        // Otherwise the element to which the focus returns would also receive the key.
        event.preventDefault()
        if (event.key === 'Enter') save(event.currentTarget.value)
        else onDone()
      }}
    />
  )
}
