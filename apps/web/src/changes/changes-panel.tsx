import type { Changes, FileChange } from '@parley/protocol'
import { Columns2, FolderTree, RefreshCw, Rows2 } from 'lucide-react'
import { memo, useEffect, useState } from 'react'
import { plural, visible } from '../base/format.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { prompts } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { jumpTo, requestedFiles } from '../session-data/shown-changes.ts'
import { commentsPrompt } from './comments.logic.ts'
import { commentsOf } from './comments.ts'
import { FileChanges, statusLetters } from './file-changes.tsx'
import { useChanges } from './use-changes.ts'

/** The changes in the session's folder, to read and comment on beside the conversation. */
export default function ChangesPanel() {
  const since = useSince()
  const { changes, error, stamps, refresh } = useChanges(since.base)
  const split = useStore(preferences, (state) => state.splitChanges)
  const listed = useStore(preferences, (state) => state.listFiles)
  const problem = error && (
    <div className="px-4 py-3 text-sm text-soft" role="status">
      <p className="pb-2">{error}</p>
      <Button onClick={refresh}>Refresh</Button>
    </div>
  )
  if (!changes) return problem || <p className="px-4 py-3 text-sm text-faint">Loading…</p>
  const { files } = changes
  return (
    <div className="flex min-h-full flex-col">
      {problem}
      <Bar changes={changes} since={since} split={split} listed={listed} onRefresh={refresh} />
      <RequestedFiles files={files} />
      {files.length === 0 && (
        <p className="px-4 py-3 text-sm text-soft">
          No changes since {since.chosen === 'start' ? 'the session’s start' : 'the last commit'}.
        </p>
      )}
      {listed && files.length > 1 && <FileList files={files} />}
      <div className="flex-1">
        {files.map((file) => (
          <FileChanges
            key={file.path}
            file={file}
            base={since.base}
            split={split}
            stamp={stamps.get(file.path) ?? 0}
          />
        ))}
        {changes.cut && (
          <p className="px-4 py-3 text-sm text-soft">Too many files have changed to show all of them.</p>
        )}
      </div>
      <UnsentComments />
    </div>
  )
}

type BarProps = { changes: Changes; since: Since; split: boolean; listed: boolean; onRefresh: () => void }

/** The bar sticks to the top of the panel, so that the file list is one click away at any scroll position. */
function Bar({ changes, since, split, listed, onRefresh }: BarProps) {
  const { files, branch, base } = changes
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0)
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0)
  return (
    <div className="sticky top-0 z-20 flex h-9 items-center gap-1 border-b border-line bg-side pr-2 pl-4 text-xs text-soft pointer-coarse:h-12">
      <span className="flex min-w-0 flex-1 items-center gap-1">
        <span className="truncate">
          {plural(files.length, 'file')}
          {branch !== undefined && ` on ${branch}`}, since
        </span>
        <Since since={since} noCommit={base === ''} />
      </span>
      <span className="px-1">
        <DiffCount added={added} removed={removed} />
      </span>
      {files.length > 1 && (
        <IconButton
          label="File list"
          aria-pressed={listed}
          onClick={({ currentTarget }) => {
            const panel = currentTarget.closest('aside')?.querySelector('.overflow-y-auto')
            // If the panel is scrolled down, the open list is out of sight: scroll to it instead of closing it.
            if (listed && panel && panel.scrollTop > 0) panel.scrollTo({ top: 0 })
            else setPreferences({ listFiles: !listed })
          }}
        >
          <FolderTree size={15} />
        </IconButton>
      )}
      <IconButton
        label={split ? 'One column' : 'Two columns'}
        aria-pressed={split}
        onClick={() => setPreferences({ splitChanges: !split })}
        className="max-md:hidden"
      >
        {split ? <Rows2 size={15} /> : <Columns2 size={15} />}
      </IconButton>
      <IconButton label="Refresh" onClick={onRefresh}>
        <RefreshCw size={14} />
      </IconButton>
    </div>
  )
}

type Since = { readonly chosen: 'commit' | 'start'; readonly base: string; readonly canChoose: boolean }

/** The base that the changes are compared with. A session created outside a repository has no start commit. */
function useSince(): Since {
  const start = useSessionState((state) => state.startCommit)
  const wanted = useStore(preferences, (state) => state.changesSince)
  const chosen = start === undefined ? 'commit' : wanted
  return { chosen, base: chosen === 'start' && start ? start : 'HEAD', canChoose: start !== undefined }
}

function Since({ since, noCommit }: { since: Since; noCommit: boolean }) {
  if (!since.canChoose) return noCommit ? 'the beginning (no commits yet)' : 'the last commit'
  return (
    <select
      aria-label="Changes since"
      title="The session’s start is the commit that was checked out when the session was created"
      value={since.chosen}
      onChange={(event) => setPreferences({ changesSince: event.target.value as Since['chosen'] })}
      className="field-sizing-content h-7 max-w-44 shrink-0 rounded-md bg-transparent px-1 text-xs text-ink hover:bg-hover pointer-coarse:h-11"
    >
      <option value="commit">the last commit</option>
      <option value="start">the session’s start</option>
    </select>
  )
}

function UnsentComments() {
  const sessionId = useSessionId()
  const store = commentsOf(sessionId)
  const { comments } = useStore(store)
  if (!useMay('prompt') || comments.length === 0) return null
  const send = () => {
    prompts.submit({
      sessionId,
      delivery: 'queue',
      parts: [{ type: 'text', text: commentsPrompt(comments) }],
    })
    store.set({ comments: [] })
  }
  return (
    <div className="sticky bottom-0 z-10 flex items-center gap-2 border-t border-line bg-card px-4 py-2 text-sm">
      <span className="flex-1">{plural(comments.length, 'comment')}</span>
      <Button look="quiet" onClick={() => store.set({ comments: [] })}>
        Discard
      </Button>
      <Button look="primary" onClick={send}>
        Send {plural(comments.length, 'comment')}
      </Button>
    </div>
  )
}

/** Jumps to the first of the requested files, and lists those that have no changes. */
function RequestedFiles({ files }: { files: readonly FileChange[] }) {
  const sessionId = useSessionId()
  const asked = useStore(requestedFiles)
  const [paths, setPaths] = useState<readonly string[]>([])
  const isHere = (path: string) => files.some((file) => file.path === path)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each request, not for each new list
  useEffect(() => {
    if (!asked) return
    requestedFiles.set(undefined)
    if (asked.sessionId !== sessionId) return
    setPaths(asked.paths)
    const first = asked.paths.find(isHere)
    if (first !== undefined) jumpTo(first)
  }, [asked])
  const missing = paths.filter((path) => !isHere(path))
  if (missing.length === 0) return null
  return (
    <p role="status" className="border-b border-line px-4 py-2 text-sm text-soft [overflow-wrap:anywhere]">
      Not in these changes: <span className="font-mono text-xs">{missing.map(visible).join(', ')}</span>. They
      may have been undone, committed, or ignored by git.
    </p>
  )
}

/** The changed files. A click jumps to the file; a long list has its own scroll area. */
const FileList = memo(function FileList({ files }: { files: readonly FileChange[] }) {
  return (
    <nav aria-label="Files" className="max-h-[min(13.2rem,35vh)] overflow-y-auto border-b border-line py-1">
      <ul>
        {files.map((file) => (
          <li
            key={file.path}
            className="[contain-intrinsic-block-size:auto_1.5rem] [content-visibility:auto]"
          >
            <button
              type="button"
              title={file.path}
              onClick={() => jumpTo(file.path)}
              className="flex min-h-6 w-full items-center gap-2 px-4 text-left text-xs hover:bg-hover pointer-coarse:min-h-11"
            >
              <span className="w-3 shrink-0 text-center font-mono text-faint" title={file.status}>
                {statusLetters[file.status]}
              </span>
              <Path path={file.path} />
              {file.generated && <span className="shrink-0 text-faint">generated</span>}
              <DiffCount added={file.added ?? 0} removed={file.removed ?? 0} />
            </button>
          </li>
        ))}
      </ul>
    </nav>
  )
})

/** Shortens the folders rather than the file name if the path does not fit. */
function Path({ path }: { path: string }) {
  const cut = path.lastIndexOf('/') + 1
  return (
    <span className="flex min-w-0 flex-1 font-mono">
      <span className="truncate text-faint">{visible(path.slice(0, cut))}</span>
      <span className="max-w-full shrink-0 truncate">{visible(path.slice(cut))}</span>
    </span>
  )
}
