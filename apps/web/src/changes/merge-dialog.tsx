import { type MergePreview, type MergeWay, mergeRequestText, squashMessage } from '@parley/protocol'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { focusPrompt } from '../base/focus.ts'
import { plural, visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { toast } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { worktreeRemoval } from '../session-data/worktree-removal.ts'
import { mergeText, sentMerge, shownPaths } from './merge-text.logic.ts'

/** Shows a preview of the merge into the base branch, and merges when the person confirms. */
export default function MergeDialog({ onClose }: { onClose: () => void }) {
  const id = useSessionId()
  const { preview, error, read } = usePreview(id)
  return (
    <Dialog label="Merge into the base branch" onClose={onClose} className="flex-col open:flex">
      <h2 className="px-4 pt-3.5 text-base font-semibold">
        {preview?.into ? `Merge into ${visible(preview.into.branch)}` : 'Merge into the base branch'}
      </h2>
      {preview ? (
        <Merge preview={preview} onClose={onClose} onOutdated={() => void read()} />
      ) : (
        <>
          <p role={error === undefined ? undefined : 'alert'} className="px-4 py-2 text-sm">
            {error ?? 'Reading the branches…'}
          </p>
          <Buttons onClose={onClose} />
        </>
      )}
    </Dialog>
  )
}

function usePreview(id: string) {
  const [state, setState] = useState<{ preview?: MergePreview; error?: string }>({})
  const read = useCallback(
    (signal?: AbortSignal) =>
      client.call('previewMerge', { params: { id }, timeoutMs: previewMs, ...(signal && { signal }) }).then(
        (preview) => setState({ preview }),
        (thrown: unknown) => signal?.aborted || setState({ error: errorText(thrown) }),
      ),
    [id],
  )
  useEffect(() => abortable(read), [read])
  return { ...state, read }
}

/** The time limit for the preview. It exceeds the time that the server gives git for the merge. */
const previewMs = 3 * 60_000

type MergeProps = { preview: MergePreview; onClose: () => void; onOutdated: () => void }

function Merge({ preview, onClose, onOutdated }: MergeProps) {
  const id = useSessionId()
  const title = useSessionState((state) => state.title)
  const hasWorktree = useSessionState(({ worktree }) => worktree?.phase === 'ready' && !worktree.of)
  const [way, setWay] = useState<MergeWay>('merge')
  const [message, setMessage] = useState('')
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const sent = sentMerge(preview, { way, message })
  const choose = (chosen: MergeWay) => {
    setWay(chosen)
    setMessage(chosen === 'squash' ? squashMessage(title, preview.commits) : '')
  }
  const confirm = async () => {
    if (!sent) return
    setBusy(true)
    setProblem(undefined)
    try {
      await client.command(id, sent)
      onClose()
      const remove = { label: 'Remove the worktree…', run: () => worktreeRemoval.set({ id, title }) }
      toast(`Merged ${visible(sent.branch)} into ${visible(sent.into)}`, {
        ...(hasWorktree && { action: remove, ms: 20_000 }),
      })
    } catch (thrown) {
      setProblem(errorText(thrown))
      onOutdated()
    }
    setBusy(false)
  }
  const ask = () => {
    const text = mergeRequestText(preview.into?.branch ?? '', preview.conflicts)
    draftOf(id).text.set((before) => [before, text].filter((one) => one.trim() !== '').join('\n\n'))
    onClose()
    focusPrompt()
  }
  return (
    <form
      aria-label="Merge"
      className="flex min-h-0 flex-col"
      onSubmit={(event) => {
        event.preventDefault()
        void confirm()
      }}
    >
      <div className="min-h-0 overflow-y-auto px-4 py-2 text-sm [overflow-wrap:anywhere]">
        <Facts preview={preview} />
        {sent && <Ways preview={preview} way={way} message={message} onWay={choose} onMessage={setMessage} />}
        {problem !== undefined && (
          <p role="alert" className="pt-2 text-bad">
            {problem}
          </p>
        )}
      </div>
      <Buttons onClose={onClose}>
        {preview.conflicts.length > 0 && (
          <Button
            look="primary"
            onClick={ask}
            title="Puts a draft into the message field, which you can edit and send"
          >
            Ask the agent to resolve
          </Button>
        )}
        {sent && (
          <Button look="primary" type="submit" disabled={busy}>
            {way === 'squash' ? 'Squash and merge' : 'Merge'}
          </Button>
        )}
      </Buttons>
    </form>
  )
}

function Buttons({ onClose, children }: { onClose: () => void; children?: ReactNode }) {
  return (
    <div className="flex flex-wrap justify-end gap-2 px-4 pt-1 pb-3.5">
      <Button look="quiet" onClick={onClose}>
        Cancel
      </Button>
      {children}
    </div>
  )
}

function Facts({ preview }: { preview: MergePreview }) {
  const { refused, commits, commitCount, files, filesCut, conflicts, blocked } = preview
  const { uncommitted, uncommittedCount } = preview
  const [added, removed] = [
    files.reduce((sum, file) => sum + (file.added ?? 0), 0),
    files.reduce((sum, file) => sum + (file.removed ?? 0), 0),
  ]
  return (
    <>
      <p>{mergeText(preview)}</p>
      {refused && <p className="pt-2 text-wait">{visible(refused.message)}</p>}
      <Paths title="Conflicts" paths={conflicts} total={conflicts.length} alarming />
      <Paths
        title="Uncommitted files that the merge would overwrite"
        paths={blocked}
        total={blocked.length}
        alarming
      />
      {uncommittedCount > 0 && (
        <Paths
          title={`${plural(uncommittedCount, 'changed file')} not committed, and not merged. Commit ${uncommittedCount === 1 ? 'it' : 'them'} first to merge ${uncommittedCount === 1 ? 'it' : 'them'} too`}
          paths={uncommitted}
          total={uncommittedCount}
        />
      )}
      {commitCount > 0 && (
        <Fold summary={plural(commitCount, 'commit')}>
          {commits.map(({ commit, subject }) => (
            <li key={commit}>
              <span className="font-mono text-xs text-soft">{commit.slice(0, 8)}</span> {visible(subject)}
            </li>
          ))}
          {commitCount > commits.length && <li>{commitCount - commits.length} more</li>}
        </Fold>
      )}
      {files.length > 0 && (
        <Fold
          summary={
            <>
              {filesCut && 'More than '}
              {plural(files.length, 'file')} <DiffCount added={added} removed={removed} />
            </>
          }
        >
          {files.map(({ path, status }) => (
            <li key={path}>
              <span className="font-mono text-xs">{visible(path)}</span>{' '}
              <span className="text-soft">{status}</span>
            </li>
          ))}
          {filesCut && <li>The other files are not listed.</li>}
        </Fold>
      )}
    </>
  )
}

function Fold({ summary, children }: { summary: ReactNode; children: ReactNode }) {
  return (
    <details className="pt-2">
      <summary className="min-h-6 cursor-pointer pointer-coarse:min-h-11 pointer-coarse:content-center">
        {summary}
      </summary>
      <ul className="pl-4">{children}</ul>
    </details>
  )
}

type PathsProps = { title: string; paths: readonly string[]; total: number; alarming?: boolean }

function Paths({ title, paths, total, alarming = false }: PathsProps) {
  if (paths.length === 0) return null
  return (
    <>
      <h3 className={`pt-3 font-medium ${alarming ? 'text-bad' : ''}`}>{title}</h3>
      <ul className="list-disc pl-5">
        {shownPaths(paths, total).map((path) => (
          <li key={path}>{path}</li>
        ))}
      </ul>
    </>
  )
}

type WaysProps = {
  preview: MergePreview
  way: MergeWay
  message: string
  onWay: (way: MergeWay) => void
  onMessage: (message: string) => void
}

function Ways({ preview, way, message, onWay, onMessage }: WaysProps) {
  const ways = [
    [
      'merge',
      preview.fastForward ? 'Fast-forward: no new commit' : 'Merge commit: keeps the commits of the branch',
    ],
    ['squash', 'Squash: one commit with all changes'],
  ] as const
  return (
    <>
      <fieldset className="flex flex-col pt-3">
        <legend className="sr-only">Kind of merge</legend>
        {ways.map(([value, label]) => (
          <label key={value} className="flex min-h-7 items-center gap-1.5 pointer-coarse:min-h-11">
            <input
              type="radio"
              name="way"
              value={value}
              checked={way === value}
              onChange={() => onWay(value)}
              className="accent-mark-fill"
            />
            {label}
          </label>
        ))}
      </fieldset>
      {(way === 'squash' || !preview.fastForward) && (
        <textarea
          aria-label="Commit message"
          placeholder={`Merge branch '${visible(preview.branch ?? '')}'`}
          value={message}
          onChange={({ target }) => onMessage(target.value)}
          className="field field-sizing-content mt-2 max-h-48 min-h-14 w-full"
        />
      )}
    </>
  )
}
