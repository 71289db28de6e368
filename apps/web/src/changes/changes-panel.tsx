import type { Changes, FileChange } from '@parley/protocol'
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { hasFocusClaim } from '../base/focus.ts'
import { visible } from '../base/format.logic.ts'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { announce } from '../parts/announcer.tsx'
import { Button } from '../parts/button.tsx'
import { UnsentRemarks } from '../remarks/unsent-remarks.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { jumpTo, requestedFiles, setComparison } from '../session-data/shown-changes.ts'
import { BranchPart } from './branch-part.tsx'
import { ChangesBar } from './changes-bar.tsx'
import { CommitBar } from './commit-bar.tsx'
import { emptyText } from './compared-text.logic.ts'
import { FileChanges } from './file-changes.tsx'
import { FileList } from './file-list.tsx'
import { handleReviewKey, type ReviewActions, showPath } from './review-keys.ts'
import { ScopeChoice } from './scope-choice.tsx'
import { useChanges } from './use-changes.ts'
import { isViewed, nextUnviewed } from './viewed.logic.ts'
import { markViewed, useViewedMarks, viewedMarks } from './viewed.ts'
import { useWriting, WritingProvider } from './writing.tsx'

/** The changes in the session's folder, to review beside the conversation. */
export default function ChangesPanel() {
  const shown = useChanges()
  const isRemoved = useSessionState(({ worktree }) => worktree?.phase === 'removed')
  if (isRemoved)
    return (
      <p className="px-4 py-3 text-sm text-soft">
        The worktree was removed. Restore the worktree to see its changes.
      </p>
    )
  return (
    <WritingProvider base={shown.changes?.base} scope={shown.comparison.scope} onDone={shown.refresh}>
      <Review {...shown} />
    </WritingProvider>
  )
}

function Review({ changes, comparison, error, stamps, refresh }: ReturnType<typeof useChanges>) {
  const split = useStore(preferences, (state) => state.splitChanges)
  const listed = useStore(preferences, (state) => state.listFiles)
  const marks = useViewedMarks()
  const place = useRef<HTMLDivElement>(null)
  const files = changes?.files ?? none
  const viewed = useMemo(() => files.filter((file) => isViewed(marks, file)).length, [files, marks])
  const actions = useReviewActions(place, files)
  useFocusOnOpen(place, changes !== undefined)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles keys of the elements inside
    <div
      ref={place}
      onKeyDown={(event) => handleReviewKey(event, actions)}
      className="flex min-h-full flex-col"
    >
      <ScopeChoice changes={changes} />
      {error !== undefined && (
        <div className="px-4 py-3 text-sm text-soft" role="status">
          <p className="pb-2">{error}</p>
          <Button onClick={refresh}>Refresh</Button>
        </div>
      )}
      {changes ? (
        <>
          <ChangesBar changes={changes} viewed={viewed} split={split} listed={listed} onRefresh={refresh} />
          {comparison.scope === 'base' && <BranchPart changes={changes} onMerged={refresh} />}
          <RequestedFiles files={files} />
          {listed && files.length > 1 && <FileList files={files} marks={marks} />}
          <div className="flex-1">
            {files.length === 0 && <Empty changes={changes} />}
            {files.map((file) => (
              <FileChanges
                key={file.path}
                file={file}
                viewed={isViewed(marks, file)}
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
      <div className="sticky bottom-0 z-10">
        {changes && comparison.scope === 'commit' && <CommitBar changes={changes} onDone={refresh} />}
        <UnsentRemarks />
      </div>
    </div>
  )
}

const none: readonly FileChange[] = []

/** Says that there are no changes. In a worktree without uncommitted changes, it leads to the commits of the branch. */
function Empty({ changes }: { changes: Changes }) {
  const sessionId = useSessionId()
  const hasWorktree = useSessionState(({ worktree }) => worktree !== undefined)
  const mayHaveCommits = hasWorktree && changes.branch !== undefined && changes.compared?.scope === 'commit'
  return (
    <div className="flex flex-col items-start gap-2 px-4 py-3 text-sm text-soft">
      <p>{emptyText(changes)}</p>
      {mayHaveCommits && (
        <Button onClick={() => setComparison(sessionId, { scope: 'base' })}>Show the branch</Button>
      )}
    </div>
  )
}

/**
 * The actions of the keys on the current file. They move the focus to the next file, because the current file
 * may disappear.
 */
function useReviewActions(place: RefObject<HTMLElement | null>, files: readonly FileChange[]): ReviewActions {
  const sessionId = useSessionId()
  const writing = useWriting()
  const named = (path: string) => files.find((one) => one.path === path)
  return {
    onViewed(path) {
      const file = named(path)
      if (!file || !place.current) return
      const wasViewed = isViewed(viewedMarks(sessionId), file)
      markViewed(sessionId, file, !wasViewed)
      if (wasViewed) return
      const next = nextUnviewed(viewedMarks(sessionId), files, path)
      if (next) showPath(place.current, next.path)
      else announce('All files are viewed')
    },
    onDiscard(path) {
      const file = named(path)
      if (!file || !writing || !place.current) return
      const at = files.indexOf(file)
      const next = files[at + 1] ?? files[at - 1]
      if (next) showPath(place.current, next.path)
      writing.discard(file)
    },
    onStage(path) {
      const file = named(path)
      if (file) writing?.stage?.(file)
    },
  }
}

/** Moves the focus to the first file if the person opened the panel by a key. */
function useFocusOnOpen(place: RefObject<HTMLElement | null>, isShown: boolean): void {
  useEffect(() => {
    if (isShown && hasFocusClaim('changes')) place.current?.querySelector<HTMLElement>('h3 button')?.focus()
  }, [place, isShown])
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
      Not in these changes: <span className="text-xs">{missing.map(visible).join(', ')}</span>. They may have
      been undone, committed, or ignored by git.
    </p>
  )
}
