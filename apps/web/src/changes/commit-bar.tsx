import { type Changes, type FileChange, ParleyError, suggestedMessage } from '@parley/protocol'
import { useState } from 'react'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { plural } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { toast } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { ProgressLines } from './progress-lines.tsx'
import { SuggestMessage } from './suggest-message.tsx'
import { useWatchedCommand } from './watched-command.ts'

type Props = { changes: Changes; onDone: () => void }

/** Commits the staged changes or, if nothing is staged, all changed files. */
export function CommitBar({ changes, onDone }: Props) {
  const [open, setOpen] = useState(false)
  if (!useMay('decide') || changes.files.length === 0 || changes.cut) return null
  return (
    <div className="border-t border-line bg-card px-4 py-2 text-sm">
      {open ? (
        <CommitForm
          changes={changes}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false)
            onDone()
          }}
        />
      ) : (
        <Button onClick={() => setOpen(true)}>Commit…</Button>
      )}
    </div>
  )
}

function CommitForm({ changes, onClose, onDone }: Props & { onClose: () => void }) {
  const sessionId = useSessionId()
  const title = useSessionState((state) => state.title)
  const isRunning = useSessionState((state) => state.turn !== undefined)
  const staged = changes.files.filter((file) => file.staged !== undefined)
  const files = staged.length > 0 ? staged : changes.files
  const [message, setMessage] = useState(() => suggestedMessage(title, files))
  const [problem, setProblem] = useState<{ readonly text: string; readonly output?: string }>()
  const [busy, setBusy] = useState(false)
  const { progress, send } = useWatchedCommand()
  const commit = async (verify = true) => {
    setBusy(true)
    setProblem(undefined)
    try {
      await sendCommit(send, { sessionId, message, files, isStaged: staged.length > 0, verify })
      toast(`Committed ${plural(files.length, 'file')}`)
      onDone()
    } catch (thrown) {
      const output = thrown instanceof ParleyError ? thrown.details?.output : undefined
      setProblem({ text: errorText(thrown), ...(typeof output === 'string' && output !== '' && { output }) })
      setBusy(false)
    }
  }
  const cannot = busy || isRunning || message.trim() === ''
  return (
    <form
      aria-label="Commit"
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        if (!cannot) void commit()
      }}
    >
      <p className="text-xs text-soft">
        {staged.length > 0
          ? `Commits the staged changes: ${plural(staged.length, 'file')}.`
          : `Nothing is staged: commits all ${plural(files.length, 'changed file')}.`}
        {isRunning && ' You can commit when the turn has ended.'}
      </p>
      <textarea
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to commit
        autoFocus
        aria-label="Commit message"
        value={message}
        onChange={(event) => setMessage(event.target.value)}
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key === 'Escape') onClose()
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !cannot) void commit()
        }}
        className="field field-sizing-content max-h-60 min-h-14 w-full"
      />
      <SuggestMessage files={files} message={message} onMessage={setMessage} />
      <ProgressLines label="Output of the hooks" text={progress} />
      {problem && (
        <div role="alert" className="text-bad">
          <p>{problem.text}</p>
          {problem.output !== undefined && (
            <ScrollRegion label="Output of the hooks" className="max-h-40 overflow-auto rounded bg-sunk p-2">
              <pre className="font-mono text-xs whitespace-pre-wrap text-ink">{problem.output}</pre>
            </ScrollRegion>
          )}
        </div>
      )}
      <span className="flex flex-wrap gap-1.5">
        <Button type="submit" look="primary" disabled={cannot}>
          Commit
        </Button>
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
        {problem?.output !== undefined && (
          <Button disabled={cannot} onClick={() => void commit(false)}>
            Commit without these checks
          </Button>
        )}
      </span>
    </form>
  )
}

type Commit = {
  readonly sessionId: string
  readonly message: string
  readonly files: readonly FileChange[]
  readonly isStaged: boolean
  readonly verify: boolean
}

async function sendCommit(
  send: ReturnType<typeof useWatchedCommand>['send'],
  { sessionId, message, files, isStaged, verify }: Commit,
): Promise<void> {
  // Staged content can differ from the file in the folder, for example because a filter changed it.
  const listed = isStaged
    ? (await client.call('listChanges', { params: { id: sessionId }, query: { side: 'staged' } })).files
    : files
  const large = listed.find(({ blob }) => blob === undefined)
  if (large) throw new ParleyError('not_supported', `${large.path} is too large to be committed here.`)
  await send({
    type: 'changes.commit',
    message,
    files: listed.map(({ path, from, blob = '' }) => ({ path, blob, ...(from !== undefined && { from }) })),
    ...(isStaged && { staged: true as const }),
    ...(!verify && { verify: false }),
  })
}
