import type { FileChange } from '@parley/protocol'
import { ChevronRight } from 'lucide-react'
import { memo, useEffect, useRef, useState } from 'react'
import { DiffCount } from '../diff/diff-view.tsx'
import { type DiffLines, diffLines } from '../diff/lines.logic.ts'
import { client } from '../page/client.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { visible } from '../page/words.logic.ts'
import { useSessionId } from '../session/session-context.tsx'
import { PatchView } from './patch-view.tsx'

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R', untracked: 'U', conflicted: '!' }
const mostLinesOpen = 500

/** Files that nobody reads line by line are folded until someone wants to. */
export function opensAtFirst({ generated, binary, added = 0, removed = 0, status }: FileChange): boolean {
  return !generated && !binary && added + removed <= mostLinesOpen && status !== 'deleted'
}

export const FileChanges = memo(function FileChanges({
  file,
  base,
  split,
  stamp,
}: {
  file: FileChange
  base: string
  split: boolean
  stamp: number
}) {
  const [chosen, setChosen] = useState<boolean>()
  const open = chosen ?? opensAtFirst(file)
  return (
    <section aria-label={file.path} className="border-b border-line">
      <h3 className="sticky top-0 z-10 bg-side">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setChosen(!open)}
          className="flex min-h-8 w-full items-center gap-2 px-3 text-left text-xs hover:bg-hover pointer-coarse:min-h-11"
        >
          <ChevronRight size={13} aria-hidden className={`shrink-0 text-faint ${open ? 'rotate-90' : ''}`} />
          <span className="w-3 shrink-0 text-center font-mono text-faint" title={file.status}>
            {letters[file.status]}
          </span>
          <span className="min-w-0 flex-1 truncate font-mono" title={file.path}>
            {file.from !== undefined && <span className="text-faint">{visible(file.from)} → </span>}
            {visible(file.path)}
          </span>
          {file.generated && <span className="shrink-0 text-faint">generated</span>}
          {file.binary && <span className="shrink-0 text-faint">binary</span>}
          <DiffCount added={file.added ?? 0} removed={file.removed ?? 0} />
        </button>
      </h3>
      {open && !file.binary && <Patch file={file} base={base} split={split} stamp={stamp} />}
    </section>
  )
})

/** Fetched when it comes near the screen, and again when the list is. */
function Patch({
  file,
  base,
  split,
  stamp,
}: {
  file: FileChange
  base: string
  split: boolean
  stamp: number
}) {
  const id = useSessionId()
  const place = useRef<HTMLDivElement>(null)
  const [near, setNear] = useState(false)
  const [patch, setPatch] = useState<{ lines: DiffLines; cut: boolean } | { error: string }>()
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: '800px',
    })
    if (place.current) observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list may mean new lines
  useEffect(() => {
    if (!near) return
    const controller = new AbortController()
    const { signal } = controller
    client
      .call('getPatch', { params: { id }, query: { path: file.path, base }, signal })
      .then(({ patch: text, cut }) => setPatch({ lines: diffLines({ path: file.path, patch: text }), cut }))
      .catch((thrown: Error) => signal.aborted || setPatch({ error: problemWords(thrown) }))
    return () => controller.abort()
  }, [near, id, file.path, base, stamp])
  if (!patch) {
    const height = Math.min(400, ((file.added ?? 8) + (file.removed ?? 0)) * 19 + 20)
    return <div ref={place} style={{ height }} />
  }
  if ('error' in patch) return <p className="px-3 py-2 text-sm text-bad">{patch.error}</p>
  return (
    <div ref={place}>
      <PatchView path={file.path} lines={patch.lines} split={split} />
      {patch.cut && (
        <p className="px-3 py-1.5 text-xs text-faint">There is more of it than can be shown here.</p>
      )}
    </div>
  )
}
