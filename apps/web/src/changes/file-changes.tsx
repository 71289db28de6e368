import type { FileChange } from '@parley/protocol'
import { ChevronRight, Minus, Plus, Undo2 } from 'lucide-react'
import { memo, startTransition, useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { IconButton } from '../parts/button.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { type DiffLines, diffLines } from '../parts/diff/lines.logic.ts'
import { FileIconLink } from '../parts/file-link.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { type Comparison, jump, queryOf } from '../session-data/shown-changes.ts'
import { statusLetters } from './file-list.tsx'
import { PartChoice, type ShownPart } from './part-choice.tsx'
import { usePatchReader } from './patch-reader.ts'
import { PatchView } from './patch-view.tsx'
import { markViewed } from './viewed.ts'
import { useWriting } from './writing.tsx'

const maxLinesOpen = 500

/** Whether a file is expanded at first. Generated, binary, deleted and large files are not. */
function opensAtFirst({ generated, binary, added, removed = 0, status }: FileChange): boolean {
  if (generated || binary || status === 'deleted') return false
  if (status === 'untracked' && added === undefined) return false
  return (added ?? 0) + removed <= maxLinesOpen
}

const headHeight = 33

function estimatedHeight({ binary, added = 8, removed = 0 }: FileChange): number {
  return binary ? 0 : Math.min(400, (added + removed) * 19 + 20)
}

type PatchProps = { file: FileChange; comparison: Comparison; split: boolean; stamp: number }
type Props = PatchProps & { viewed: boolean }

export const FileChanges = memo(function FileChanges({ file, viewed, comparison, split, stamp }: Props) {
  const [chosen, setChosen] = useState<boolean>()
  const open = chosen ?? (!viewed && opensAtFirst(file))
  // A file collapses when it is viewed, and expands again when its content changes.
  const [wasViewed, setWasViewed] = useState(viewed)
  if (wasViewed !== viewed) {
    setWasViewed(viewed)
    setChosen(undefined)
  }
  const isReview = usePatchReader() === undefined
  const place = useRef<HTMLElement>(null)
  const [before] = useState(() => jump.get().count)
  const asked = useStore(jump, ({ path, count }) => (path === file.path ? count : 0))
  useEffect(() => {
    if (asked <= before) return
    setChosen(true)
    place.current?.scrollIntoView({ block: 'start' })
    place.current?.querySelector('button')?.focus({ preventScroll: true })
  }, [asked, before])
  return (
    <section
      ref={place}
      aria-label={file.path}
      data-path={file.path}
      className="group/file scroll-mt-9 border-b border-line [content-visibility:auto] pointer-coarse:scroll-mt-12"
      // The estimated height until the file is rendered for the first time; then the browser remembers the real
      // height.
      style={{ containIntrinsicBlockSize: `auto ${headHeight + (open ? estimatedHeight(file) : 0)}px` }}
    >
      <h3 className="sticky top-9 z-10 flex items-center bg-side pointer-coarse:top-12">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setChosen(!open)}
          className="flex min-h-8 min-w-0 flex-1 items-center gap-2 pl-3 text-left text-xs hover:bg-hover pointer-coarse:min-h-11"
        >
          <ChevronRight size={13} aria-hidden className={`shrink-0 text-faint ${open ? 'rotate-90' : ''}`} />
          <span className="w-3 shrink-0 text-center text-faint" title={file.status}>
            {statusLetters[file.status]}
          </span>
          <span className="min-w-0 flex-1 truncate" title={file.path}>
            {file.from !== undefined && <span className="text-faint">{visible(file.from)} → </span>}
            {visible(file.path)}
          </span>
          {file.generated && <span className="shrink-0 text-faint">generated</span>}
          {file.staged && (
            <span className="shrink-0 text-good">{file.staged === 'all' ? 'staged' : 'partly staged'}</span>
          )}
          {file.binary && <span className="shrink-0 text-faint">binary</span>}
          <DiffCount added={file.added ?? 0} removed={file.removed ?? 0} />
        </button>
        {file.status !== 'deleted' && <FileIconLink to={{ path: file.path }} />}
        {open && <FileButtons file={file} />}
        {isReview ? <ViewedMark file={file} viewed={viewed} /> : <span className="w-3" />}
      </h3>
      {open && !file.binary && <Parts file={file} comparison={comparison} split={split} stamp={stamp} />}
    </section>
  )
})

function FileButtons({ file }: { file: FileChange }) {
  const writing = useWriting()
  if (!writing) return null
  const isStaged = file.staged === 'all'
  return (
    <span className="flex shrink-0 items-center pl-1">
      {writing.stage && (
        <IconButton
          label={`${isStaged ? 'Unstage' : 'Stage'} ${file.path}`}
          onClick={() => writing.stage?.(file)}
        >
          {isStaged ? <Minus size={14} /> : <Plus size={14} />}
        </IconButton>
      )}
      <IconButton label={`Discard the changes of ${file.path}`} onClick={() => writing.discard(file)}>
        <Undo2 size={14} />
      </IconButton>
    </span>
  )
}

function ViewedMark({ file, viewed }: { file: FileChange; viewed: boolean }) {
  const sessionId = useSessionId()
  if (file.blob === undefined) return <span className="w-3" />
  return (
    <label className="flex shrink-0 items-center gap-1.5 px-3 text-xs font-normal text-soft hover:text-ink pointer-coarse:min-w-11">
      <input
        type="checkbox"
        aria-label={`Viewed ${file.path}`}
        checked={viewed}
        onChange={(event) => markViewed(sessionId, file, event.target.checked)}
        className="accent-mark-fill"
      />
      <span className="max-md:hidden">Viewed</span>
    </label>
  )
}

/** The patch of a file; of a partly staged one, also the patch of either part alone. */
function Parts({ file, ...rest }: PatchProps) {
  const [chosen, setPart] = useState<ShownPart>()
  const writing = useWriting()
  if (!writing?.stage || file.staged !== 'part') return <Patch file={file} part={undefined} {...rest} />
  return (
    <>
      <PartChoice path={file.path} part={chosen} onChoose={setPart} />
      <Patch key={chosen ?? ''} file={file} part={chosen} {...rest} />
    </>
  )
}

/** The patch of a file. It is fetched when it comes near the viewport, and again after each new list of changes. */
function Patch({ file, part, comparison, split, stamp }: PatchProps & { part: ShownPart }) {
  const id = useSessionId()
  const readsAll = useMay('terminal')
  const read = usePatchReader()
  const place = useRef<HTMLDivElement>(null)
  const [near, setNear] = useState(false)
  const [patch, setPatch] = useState<{ text: string; lines: DiffLines; cut: boolean } | { error: string }>()
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: '800px',
    })
    if (place.current) observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list may mean a new patch
  useEffect(() => {
    if (!near) return
    const readOwn = (path: string, signal: AbortSignal) =>
      client.call('getPatch', {
        params: { id },
        query: {
          ...{ path, ...(part ? { side: part } : queryOf(comparison)) },
          ...(readsAll && { all: 'true' }),
        },
        signal,
      })
    return abortable((signal) =>
      (read ?? readOwn)(file.path, signal)
        .then(({ patch: text, cut }) => {
          const lines = diffLines({ path: file.path, patch: text })
          // Several patches may arrive at once during scrolling: render them when there is time.
          startTransition(() =>
            setPatch((shown) =>
              shown && 'text' in shown && shown.text === text ? shown : { text, lines, cut },
            ),
          )
        })
        .catch((thrown: Error) => signal.aborted || setPatch({ error: errorText(thrown) })),
    )
  }, [near, id, file.path, part, comparison, read, stamp, readsAll])
  if (!patch) {
    return <div ref={place} style={{ height: estimatedHeight(file) }} />
  }
  if ('error' in patch) return <p className="px-3 py-2 text-sm text-bad">{patch.error}</p>
  return (
    <div ref={place}>
      <PatchView file={file} part={part} lines={patch.lines} split={split} />
      {patch.cut && <p className="px-3 py-1.5 text-xs text-faint">The rest is too long to show here.</p>}
    </div>
  )
}
