import type { Changes, FileChange } from '@parley/protocol'
import { Columns2, FolderTree, RefreshCw, Rows2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { plural, visible } from '../base/format.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { prompts } from '../session-data/prompts.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { jumpTo, requestedFiles } from '../session-data/shown-changes.ts'
import { commentsPrompt } from './comments.logic.ts'
import { commentsOf } from './comments.ts'
import { emptyText } from './compared-text.logic.ts'
import { FileChanges } from './file-changes.tsx'
import { FileList } from './file-list.tsx'
import { ScopeChoice } from './scope-choice.tsx'
import { useChanges } from './use-changes.ts'

/** The changes in the session's folder, to review beside the conversation. */
export default function ChangesPanel() {
  const { changes, comparison, error, stamps, refresh } = useChanges()
  const split = useStore(preferences, (state) => state.splitChanges)
  const listed = useStore(preferences, (state) => state.listFiles)
  return (
    <div className="flex min-h-full flex-col">
      <ScopeChoice changes={changes} />
      {error !== undefined && (
        <div className="px-4 py-3 text-sm text-soft" role="status">
          <p className="pb-2">{error}</p>
          <Button onClick={refresh}>Refresh</Button>
        </div>
      )}
      {changes ? (
        <>
          <Bar changes={changes} split={split} listed={listed} onRefresh={refresh} />
          <RequestedFiles files={changes.files} />
          {listed && changes.files.length > 1 && <FileList files={changes.files} />}
          <div className="flex-1">
            {changes.files.length === 0 && (
              <p className="px-4 py-3 text-sm text-soft">{emptyText(changes)}</p>
            )}
            {changes.files.map((file) => (
              <FileChanges
                key={file.path}
                file={file}
                comparison={comparison}
                split={split}
                stamp={stamps.get(file.path) ?? 0}
              />
            ))}
            {changes.cut && (
              <p className="px-4 py-3 text-sm text-soft">Too many files have changed to show all of them.</p>
            )}
          </div>
        </>
      ) : (
        error === undefined && <p className="px-4 py-3 text-sm text-faint">Loading…</p>
      )}
      <UnsentComments />
    </div>
  )
}

type BarProps = { changes: Changes; split: boolean; listed: boolean; onRefresh: () => void }

/** The bar sticks to the top of the panel, so that the file list is one click away at any scroll position. */
function Bar({ changes, split, listed, onRefresh }: BarProps) {
  const { files, branch } = changes
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0)
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0)
  return (
    <div className="sticky top-0 z-20 flex h-9 items-center gap-1 border-b border-line bg-side pr-2 pl-4 text-xs text-soft pointer-coarse:h-12">
      <span className="min-w-0 flex-1 truncate">
        {plural(files.length, 'file')}
        {branch !== undefined && ` on ${visible(branch)}`}
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
