import type { BranchInfo, Changes } from '@parley/protocol'
import { useCallback, useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { useFocusBack } from '../base/focus.ts'
import { plural, visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { toast } from '../parts/toasts.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { setComparison } from '../session-data/shown-changes.ts'
import { branchText, mayMerge, mayPush } from './branch-text.logic.ts'
import { ProgressLines } from './progress-lines.tsx'
import { PullRequestPart } from './pull-request-part.tsx'
import { useWatchedCommand } from './watched-command.ts'

const mergePart = lazyPart(() => import('./merge-dialog.tsx'))

/**
 * The checked-out branch, its unpushed commits and its pull request. All of it is read again with each list
 * of changes. `onMerged` reads that list again, because a merge into the base branch changes the list.
 */
export function BranchPart({ changes, onMerged }: { changes: Changes; onMerged: () => void }) {
  const id = useSessionId()
  const [info, setInfo] = useState<BranchInfo>()
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const [isMerging, setMerging] = useState(false)
  const decides = useMay('decide')
  const { progress, send } = useWatchedCommand()
  const read = useCallback(
    (signal?: AbortSignal) =>
      client.call('getBranch', { params: { id }, ...(signal && { signal }) }).then(setInfo, () => {}),
    [id],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list may mean a new commit
  useEffect(() => abortable(read), [read, changes])
  const place = useRef<HTMLElement>(null)
  const [pushes, merges] = [mayPush, mayMerge].map((may) => decides && info !== undefined && may(info))
  // The buttons disappear when there is nothing left to push or to merge.
  useFocusBack(pushes === true, () => place.current)
  useFocusBack(merges === true, () => place.current)
  if (!info) return null
  const { branch, commit, remote, trusted } = info
  const endMerge = () => {
    setMerging(false)
    void read()
    onMerged()
  }
  const push = async () => {
    if (branch === undefined || commit === undefined) return
    setBusy(true)
    setProblem(undefined)
    try {
      await send({ type: 'branch.push', branch, commit })
      toast(`Pushed ${visible(branch)} to ${visible(remote?.name ?? 'the remote')}`)
    } catch (thrown) {
      setProblem(errorText(thrown))
    }
    await read()
    setBusy(false)
  }
  return (
    <section
      ref={place}
      tabIndex={-1}
      aria-label="Branch"
      className="flex flex-col gap-1.5 border-b border-line px-4 py-2 text-xs text-soft outline-none [overflow-wrap:anywhere]"
    >
      <div className="flex items-center gap-2">
        <p className="min-w-0 flex-1">{branchText(info)}</p>
        {pushes && (
          <Button disabled={busy} onClick={() => void push()}>
            {busy ? 'Pushing…' : 'Push'}
          </Button>
        )}
        {merges && <Button onClick={() => setMerging(true)}>Merge…</Button>}
      </div>
      <Uncommitted changes={changes} />
      <ProgressLines label="Progress of the push" text={progress} />
      {problem !== undefined && (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
      {isMerging && <Lazy part={mergePart}>{(MergeDialog) => <MergeDialog onClose={endMerge} />}</Lazy>}
      {trusted && branch !== undefined && remote?.branch && !info.isBase && (
        <PullRequestPart key={`${branch} ${remote.branch.commit}`} />
      )}
    </section>
  )
}

/** Leads to the changes that are not committed. They are read again with each list of changes. */
function Uncommitted({ changes }: { changes: Changes }) {
  const id = useSessionId()
  const [count, setCount] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list may mean a new commit
  useEffect(
    () =>
      abortable((signal) =>
        client.call('listChanges', { params: { id }, query: { scope: 'commit' }, signal }).then(
          ({ files }) => signal.aborted || setCount(files.length),
          () => {},
        ),
      ),
    [id, changes],
  )
  if (count === 0) return null
  return (
    <div className="flex items-center gap-2">
      <p className="min-w-0 flex-1">
        {plural(count, 'changed file')} {count === 1 ? 'is' : 'are'} not committed.
      </p>
      <Button onClick={() => setComparison(id, { scope: 'commit' })}>Show uncommitted changes</Button>
    </div>
  )
}
