import type { Changes } from '@parley/protocol'
import { Columns2, RefreshCw, Rows2 } from 'lucide-react'
import { useCallback, useEffect, useState } from 'react'
import { submit } from '../composer/outbox.ts'
import { DiffCount } from '../diff/diff-view.tsx'
import { client, useConnection } from '../page/client.ts'
import { prefer, preferences } from '../page/preferences.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { useStore } from '../page/store.ts'
import { plural } from '../page/words.logic.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { usePart, useSessionId, useStatePart } from '../session/session-context.tsx'
import { promptOf } from './comments.logic.ts'
import { commentsOf } from './comments.ts'
import { FileChanges } from './file-changes.tsx'

/** What differs in the session's folder, to be read and remarked on beside the conversation. */
export default function ChangesPanel() {
  const since = useSince()
  const { changes, error, stamp, load } = useChanges(since.base)
  const split = useStore(preferences, (state) => state.splitChanges)
  if (error) {
    return (
      <div className="px-4 py-3 text-sm text-soft">
        <p className="pb-2">{error}</p>
        <Button onClick={load}>Look again</Button>
      </div>
    )
  }
  if (!changes) return <p className="px-4 py-3 text-sm text-faint">Looking…</p>
  const added = changes.files.reduce((sum, file) => sum + (file.added ?? 0), 0)
  const removed = changes.files.reduce((sum, file) => sum + (file.removed ?? 0), 0)
  return (
    <div className="flex min-h-full flex-col">
      <div className="flex items-center gap-2 border-b border-line py-1 pr-2 pl-4 text-xs text-soft">
        <span className="flex min-w-0 flex-1 items-center gap-1">
          <span className="truncate">
            {plural(changes.files.length, 'file')}
            {changes.branch !== undefined && ` on ${changes.branch}`}, since
          </span>
          <Since since={since} noCommit={changes.base === ''} />
        </span>
        <DiffCount added={added} removed={removed} />
        <IconButton
          label={split ? 'One column' : 'Two columns'}
          aria-pressed={split}
          onClick={() => prefer({ splitChanges: !split })}
          className="max-md:hidden"
        >
          {split ? <Rows2 size={15} /> : <Columns2 size={15} />}
        </IconButton>
        <IconButton label="Look again" onClick={load}>
          <RefreshCw size={14} />
        </IconButton>
      </div>
      {changes.files.length === 0 && (
        <p className="px-4 py-3 text-sm text-soft">
          Nothing differs from{' '}
          {since.chosen === 'start' ? 'the commit the session began at' : 'the last commit'}.
        </p>
      )}
      <div className="flex-1">
        {changes.files.map((file) => (
          <FileChanges key={file.path} file={file} base={since.base} split={split} stamp={stamp} />
        ))}
        {changes.cut && (
          <p className="px-4 py-3 text-sm text-soft">There are more files than can be shown here.</p>
        )}
      </div>
      <Remarks />
    </div>
  )
}

type Since = { readonly chosen: 'commit' | 'start'; readonly base: string; readonly canChoose: boolean }

/** What the changes are compared with. A session that began outside a repository knows no other start. */
function useSince(): Since {
  const start = useStatePart((state) => state.startCommit)
  const wanted = useStore(preferences, (state) => state.changesSince)
  const chosen = start === undefined ? 'commit' : wanted
  return { chosen, base: chosen === 'start' && start ? start : 'HEAD', canChoose: start !== undefined }
}

function Since({ since, noCommit }: { since: Since; noCommit: boolean }) {
  if (!since.canChoose) return noCommit ? 'nothing: there is no commit yet' : 'the last commit'
  return (
    <select
      aria-label="Changes since"
      title="The start is the commit that the folder stood at when the session was made"
      value={since.chosen}
      onChange={(event) => prefer({ changesSince: event.target.value as Since['chosen'] })}
      className="field-sizing-content h-7 max-w-44 shrink-0 rounded-md bg-transparent px-1 text-xs text-ink hover:bg-hover pointer-coarse:h-11"
    >
      <option value="commit">the last commit</option>
      <option value="start">the session’s start</option>
    </select>
  )
}

/** Looks when the panel opens, when a step ends, when the server is back, and when the person is. */
function useChanges(base: string) {
  const id = useSessionId()
  const [changes, setChanges] = useState<Changes>()
  const [error, setError] = useState<string>()
  const [stamp, setStamp] = useState(0)
  const ended = usePart((snapshot) => endedSteps(snapshot.view.timeline))
  const online = useConnection().state === 'open'
  const load = useCallback(async () => {
    try {
      setChanges(await client.call('listChanges', { params: { id }, query: { base } }))
      setError(undefined)
      setStamp((before) => before + 1)
    } catch (thrown) {
      setError(problemWords(thrown))
    }
  }, [id, base])
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step that ended may have changed something
  useEffect(() => {
    const timer = setTimeout(() => void load(), changes ? 600 : 0)
    return () => clearTimeout(timer)
  }, [load, ended, online])
  useEffect(() => {
    const look = () => void (document.hidden || load())
    addEventListener('focus', look)
    return () => removeEventListener('focus', look)
  }, [load])
  return { changes, error, stamp, load: () => void load() }
}

/** Changes when a step that may have written something ends. */
function endedSteps(timeline: readonly { type: string; seq: number; status?: string }[]): number {
  for (let at = timeline.length - 1; at >= 0; at--) {
    const block = timeline[at]!
    if (block.type === 'turn-end' || (block.type === 'tool-call' && block.status !== 'running'))
      return block.seq
  }
  return 0
}

function Remarks() {
  const sessionId = useSessionId()
  const store = commentsOf(sessionId)
  const { comments } = useStore(store)
  if (comments.length === 0) return null
  const send = () => {
    submit({ sessionId, delivery: 'queue', parts: [{ type: 'text', text: promptOf(comments) }] })
    store.set({ comments: [] })
  }
  return (
    <div className="sticky bottom-0 z-10 flex items-center gap-2 border-t border-line bg-card px-4 py-2 text-sm">
      <span className="flex-1">{plural(comments.length, 'remark')}</span>
      <Button look="quiet" onClick={() => store.set({ comments: [] })}>
        Discard
      </Button>
      <Button look="primary" onClick={send}>
        Send as one prompt
      </Button>
    </div>
  )
}
