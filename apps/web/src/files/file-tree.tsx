import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronRight, File, Folder, FolderOpen, Link2 } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import { hasFocusClaim, hasKeyboard } from '../base/focus.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import { useKnownChanges } from '../session-data/known-changes.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { useFolderWatch } from '../session-data/watch-folder.ts'
import { sizeText } from './bytes.logic.ts'
import { ProblemText } from './file-problem.tsx'
import { fileProblem } from './problem.logic.ts'
import { treeOf } from './session-tree.ts'
import { cannotOpen, type TreeRow, treeMove, treeRows } from './tree.logic.ts'

type Props = {
  shown: string | undefined
  onOpen: (path: string) => void
}

/** The files of the session's folder. A folder is read when it is opened. */
export function FileTree({ shown, onOpen }: Props) {
  const sessionId = useSessionId()
  const folder = useSessionState((state) => state.cwd)
  const tree = treeOf(sessionId)
  const { levels, opened } = useStore(tree.store)
  const all = useMay('terminal')
  // biome-ignore lint/correctness/useExhaustiveDependencies: with other scopes, other folders can be read
  useEffect(() => tree.refresh(), [tree, all])
  useFolderWatch(sessionId, tree.refresh)
  useEffect(() => {
    if (shown !== undefined && !shown.startsWith('/')) tree.reveal(shown)
  }, [tree, shown])
  const rows = useMemo(() => treeRows({ levels, opened }), [levels, opened])
  const root = levels.get('')
  if (root?.error !== undefined) {
    return (
      <div className="px-4 py-3">
        <ProblemText problem={fileProblem(root.error, { path: folder, folder })} />
        <Button className="mt-3" onClick={() => tree.refresh()}>
          Try again
        </Button>
      </div>
    )
  }
  if (root?.entries === undefined) return <p className="px-4 py-3 text-sm text-faint">Loading…</p>
  if (rows.length === 0) return <p className="px-4 py-3 text-sm text-soft">The folder is empty.</p>
  const toggle = (row: TreeRow) => (row.isOpen ? tree.close(row.path) : tree.open(row.path))
  return (
    <>
      <Rows
        rows={rows}
        shown={shown}
        onToggle={toggle}
        onChoose={(row) => {
          if (row.isFolder) toggle(row)
          else if (!cannotOpen(row.entry)) onOpen(row.path)
        }}
      />
      {root.cut && (
        <p className="px-4 py-2 text-xs text-soft">Only the first {rows.length} entries are shown.</p>
      )}
    </>
  )
}

const rowHeight = () => (hasKeyboard() ? 26 : 44)

type RowsProps = {
  rows: readonly TreeRow[]
  shown: string | undefined
  onToggle: (row: TreeRow) => void
  onChoose: (row: TreeRow) => void
}

/**
 * The rows in view. The tree keeps the focus and names the active row in `aria-activedescendant`, because a
 * row that is scrolled out of view is not rendered.
 */
function Rows({ rows, shown, onToggle, onChoose }: RowsProps) {
  const statuses = useKnownChanges(useSessionId())
  const scroller = useRef<HTMLDivElement>(null)
  const [path, setPath] = useState(shown)
  const active = Math.max(
    0,
    rows.findIndex((row) => row.path === path),
  )
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: rowHeight,
    overscan: 10,
  })
  const id = useId()
  const shownIndex = rows.findIndex((row) => row.path === shown)
  // biome-ignore lint/correctness/useExhaustiveDependencies: when a file is opened, and when its row is loaded
  useEffect(() => {
    if (shownIndex < 0) return
    setPath(shown)
    virtualizer.scrollToIndex(shownIndex)
  }, [shown, shownIndex < 0])
  useEffect(() => {
    if (hasFocusClaim('files') && shown === undefined) scroller.current?.focus({ preventScroll: true })
  }, [shown])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const move = treeMove(event.key, rows, active)
    const row = rows[active]
    if (!move || !row) return
    event.preventDefault()
    if ('to' in move) {
      setPath(rows[move.to]?.path)
      virtualizer.scrollToIndex(move.to)
    } else if (move.do === 'choose') onChoose(row)
    else onToggle(row)
  }
  return (
    <div
      ref={scroller}
      role="tree"
      aria-label="Files of the session"
      tabIndex={0}
      aria-activedescendant={`${id}-${active}`}
      onKeyDown={onKeyDown}
      className="group/tree min-h-0 flex-1 overflow-auto py-1 outline-offset-[-2px]"
    >
      <div role="presentation" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start, size }) => {
          const row = rows[index]
          return (
            row && (
              <Row
                key={row.path}
                id={`${id}-${index}`}
                row={row}
                isActive={index === active}
                isShown={row.path === shown}
                status={statuses.get(row.path)}
                style={{ transform: `translateY(${start}px)`, height: size }}
                onChoose={() => {
                  setPath(row.path)
                  onChoose(row)
                }}
              />
            )
          )
        })}
      </div>
    </div>
  )
}

type RowProps = {
  id: string
  row: TreeRow
  isActive: boolean
  isShown: boolean
  status: string | undefined
  style: { transform: string; height: number }
  onChoose: () => void
}

const notes = { loading: 'loading…', failed: 'cannot be read', empty: 'empty', cut: 'not all shown' }

function Row({ id, row, isActive, isShown, status, style, onChoose }: RowProps) {
  const { entry, depth, isOpen } = row
  const name = visible(entry.name)
  const dead = cannotOpen(entry)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
    <div
      id={id}
      role="treeitem"
      // The tree has the focus.
      tabIndex={-1}
      aria-level={depth}
      aria-setsize={row.of}
      aria-posinset={row.place}
      aria-selected={isShown}
      aria-disabled={dead || undefined}
      {...(row.isFolder && { 'aria-expanded': isOpen })}
      title={titleOf(row, status)}
      onClick={onChoose}
      style={{ ...style, paddingLeft: `${depth * 0.875 - 0.375}rem` }}
      className={`absolute inset-x-0 top-0 flex items-center gap-1.5 pr-3 text-sm select-none hover:bg-hover ${dead ? '' : 'cursor-pointer'} ${isShown ? 'bg-mark-wash' : ''} ${isActive ? 'group-focus-visible/tree:outline-2 group-focus-visible/tree:outline-mark group-focus-visible/tree:-outline-offset-2' : ''}`}
    >
      <ChevronRight
        size={13}
        aria-hidden
        className={`shrink-0 text-faint ${row.isFolder ? '' : 'invisible'} ${isOpen ? 'rotate-90' : ''}`}
      />
      <EntryIcon row={row} />
      <span
        className={`min-w-0 truncate ${entry.ignored || dead ? 'text-faint' : ''} ${status ? 'text-mark' : ''}`}
      >
        {name}
      </span>
      {entry.ignored && <span className="shrink-0 text-xs text-faint">ignored</span>}
      {row.note && <span className="shrink-0 text-xs text-faint">{notes[row.note]}</span>}
      {status && <span className="ml-auto shrink-0 text-xs text-mark">{status}</span>}
    </div>
  )
}

function EntryIcon({ row: { entry, isFolder, isOpen } }: { row: TreeRow }) {
  const Icon = entry.kind === 'link' ? Link2 : isFolder ? (isOpen ? FolderOpen : Folder) : File
  return <Icon size={14} aria-hidden className="shrink-0 text-faint" />
}

function titleOf({ path, entry }: TreeRow, status: string | undefined): string {
  const size = entry.size === undefined ? undefined : sizeText(entry.size)
  const link =
    entry.kind === 'link' && entry.leadsTo === undefined
      ? 'a link whose target is not in this folder'
      : undefined
  const other = entry.kind === 'other' ? 'not a regular file' : undefined
  return [visible(path), size, status, entry.ignored && 'ignored by git', link, other]
    .filter(Boolean)
    .join(', ')
}
