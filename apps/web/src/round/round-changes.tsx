import type { Attempt, FileChange, Round } from '@parley/protocol'
import { Columns2, Rows2 } from 'lucide-react'
import { useCallback, useId } from 'react'
import { useAgentNames } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { plural } from '../base/format.logic.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { FileChanges } from '../changes/file-changes.tsx'
import { FileList } from '../changes/file-list.tsx'
import { PatchReader } from '../changes/patch-reader.ts'
import { handleReviewKey } from '../changes/review-keys.ts'
import { IconButton } from '../parts/button.tsx'
import { DiffCount } from '../parts/diff/diff-count.tsx'
import { SessionProvider } from '../session-data/session-context.tsx'
import { SessionFiles } from '../session-data/session-files.tsx'
import type { Comparison } from '../session-data/shown-changes.ts'
import { attemptName } from './round.logic.ts'
import { useCompared } from './use-compared.ts'

type Props = {
  round: Round
  to: number
  /** The attempt with which `to` is compared. Absent: `to` is compared with its start commit. */
  from: number | undefined
  onShow: (to: number, from?: number) => void
}

/** The changes of an attempt, or its differences from another attempt. */
export default function RoundChanges({ round, to, from, onShow }: Props) {
  const attempt = round.attempts.find((one) => one.attempt === to)
  return (
    <section aria-label="Changes of the attempts" className="min-h-[60dvh] border-t border-line bg-side">
      <Choice round={round} to={to} from={from} onShow={onShow} />
      {attempt && (
        <SessionProvider key={attempt.sessionId} id={attempt.sessionId}>
          <SessionFiles session={{ id: attempt.sessionId, cwd: attempt.worktree?.path ?? '' }}>
            <Compared key={`${to} ${from}`} round={round} attempt={attempt} from={from} />
          </SessionFiles>
        </SessionProvider>
      )}
    </section>
  )
}

function Choice({ round: { attempts }, to, from, onShow }: Props) {
  const agentName = useAgentNames()
  const name = useId()
  const nameOf = (attempt: Attempt) => attemptName(attempt, agentName(attempt.agent))
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-5 py-2 text-sm max-md:px-3">
      <fieldset className="flex max-w-full min-w-0 flex-wrap items-center rounded-lg border border-edge bg-sunk p-0.5">
        <legend className="sr-only">Changes of attempt</legend>
        {attempts.map((attempt) => (
          <label
            key={attempt.attempt}
            className="relative flex min-h-7 items-center rounded-md px-2 text-xs text-soft hover:text-ink has-checked:bg-card has-checked:font-medium has-checked:text-ink has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-mark pointer-coarse:min-h-11 pointer-coarse:px-3"
          >
            <input
              type="radio"
              name={name}
              className="absolute inset-0 cursor-pointer opacity-0"
              checked={attempt.attempt === to}
              onChange={() => onShow(attempt.attempt, from === attempt.attempt ? undefined : from)}
            />
            {nameOf(attempt)}
          </label>
        ))}
      </fieldset>
      <label className="flex min-w-0 items-center gap-2 text-xs text-soft">
        compared with
        <select
          value={from ?? ''}
          onChange={({ target }) => onShow(to, target.value === '' ? undefined : Number(target.value))}
          className="h-7 max-w-64 min-w-0 rounded-md border border-field bg-page px-1 text-ink pointer-coarse:h-11"
        >
          <option value="">its start commit</option>
          {attempts
            .filter((one) => one.attempt !== to)
            .map((one) => (
              <option key={one.attempt} value={one.attempt}>
                attempt {nameOf(one)}
              </option>
            ))}
        </select>
      </label>
    </div>
  )
}

type ComparedProps = { round: Round; attempt: Attempt; from: number | undefined }

/** Of the review keys, only those that move the focus are used here. */
const noActions = { onViewed: () => {}, onDiscard: () => {}, onStage: () => {} }
const comparison: Comparison = { scope: 'session' }
const noMarks = new Map()

function Compared({ round, attempt, from }: ComparedProps) {
  const { id } = round
  const { attempt: to } = attempt
  const { changes, stamps, error } = useCompared(round, attempt, from)
  const split = useStore(preferences, (state) => state.splitChanges)
  const read = useCallback(
    (path: string, signal: AbortSignal) =>
      client.call('getAttemptPatch', {
        params: { id },
        query: { to, path, ...(from !== undefined && { from }) },
        signal,
      }),
    [id, to, from],
  )
  if (!changes)
    return (
      <p role={error === undefined ? undefined : 'status'} className="px-5 py-3 text-sm text-soft">
        {error ?? 'Loading…'}
      </p>
    )
  const { files } = changes
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles keys of the elements inside
    <div onKeyDown={(event) => handleReviewKey(event, noActions)}>
      <Bar files={files} split={split} />
      {files.length > 1 && <FileList files={files} marks={noMarks} />}
      {files.length === 0 && (
        <p className="px-5 py-3 text-sm text-soft">
          {from === undefined ? 'This attempt has changed no files.' : 'These attempts have the same files.'}
        </p>
      )}
      <PatchReader value={read}>
        {files.map((file) => (
          <FileChanges
            key={file.path}
            file={file}
            viewed={false}
            comparison={comparison}
            split={split}
            stamp={stamps.get(file.path) ?? 0}
          />
        ))}
      </PatchReader>
      {changes.cut && (
        <p className="px-5 py-3 text-sm text-soft">Too many files have changed to show all of them.</p>
      )}
    </div>
  )
}

function Bar({ files, split }: { files: readonly FileChange[]; split: boolean }) {
  const sum = (count: 'added' | 'removed') => files.reduce((total, file) => total + (file[count] ?? 0), 0)
  return (
    <div className="sticky top-0 z-20 flex h-9 items-center gap-2 border-b border-line bg-side pr-2 pl-5 text-xs text-soft max-md:pl-3 pointer-coarse:h-12">
      <span className="flex-1">{plural(files.length, 'file')}</span>
      <DiffCount added={sum('added')} removed={sum('removed')} />
      <IconButton
        label={split ? 'One column' : 'Two columns'}
        onClick={() => setPreferences({ splitChanges: !split })}
        className="max-md:hidden"
      >
        {split ? <Rows2 size={15} /> : <Columns2 size={15} />}
      </IconButton>
    </div>
  )
}
