import type { BlockOf } from '@parley/protocol'
import { CircleStop } from 'lucide-react'
import { memo } from 'react'
import { useNow } from '../base/clock.ts'
import { amount, dollars, plural, relativePath, timeOf, turnTime } from '../base/format.logic.ts'
import { asJson } from '../call/call-text.logic.ts'
import { LazyTerminalText } from '../call/lazy-call-detail.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { showChanges } from '../session-data/shown-changes.ts'
import { Callout } from './callout.tsx'
import { FailedTurn } from './failed-turn.tsx'
import { RewoundTurn } from './rewound-turn.tsx'
import { isRewind, stopText } from './turn-end.logic.ts'

type Props = { block: BlockOf<'turn-end'>; files: readonly string[]; waited: number; folder: string }

/** The end of a turn: how it ended, what it cost, and which files it changed. */
export const EndRow = memo(function EndRow({ block, files, waited, folder }: Props) {
  const { outcome, stopReason, durationMs, usage, costUsd, notionalCost, error, structuredOutput } = block.end
  const facts = [
    timeOf(block.at, useNow()),
    turnTime(durationMs, waited),
    usage && `${amount(usage.input + usage.output)} tokens`,
    costUsd !== undefined && costUsd > 0 && `${dollars(costUsd)}${notionalCost ? ' at list price' : ''}`,
  ].filter(Boolean)
  return (
    <div>
      {outcome === 'failed' && <FailedTurn turnId={block.turnId} error={error} />}
      {isRewind(stopReason) && <RewoundTurn turnId={block.turnId} end={block.end} />}
      {outcome === 'completed' && stopText(stopReason) !== undefined && (
        <Callout level="warning" text={stopText(stopReason) ?? ''} />
      )}
      {error && <ProcessEnd details={error.details} />}
      {outcome === 'unknown' && (
        <Callout
          level="warning"
          text="The server restarted during this turn. Some actions may be missing; check Changes."
        />
      )}
      {structuredOutput !== undefined && (
        <pre className="terminal my-1 rounded-md bg-sunk px-2.5 py-2">{asJson(structuredOutput)}</pre>
      )}
      <p className="flex flex-wrap items-center gap-x-2.5 px-1.5 pt-0.5 pb-2 text-xs text-faint tabular-nums">
        {outcome === 'cancelled' && (
          <span className="flex items-center gap-1 font-medium text-soft">
            <CircleStop size={12} aria-hidden /> Stopped
          </span>
        )}
        {facts.join(' · ')}
        {files.length > 0 && <ChangedFiles files={files} folder={folder} />}
      </p>
    </div>
  )
})

/** How an agent's process ended, and the end of its stderr. */
function ProcessEnd({ details = {} }: { details?: Readonly<Record<string, unknown>> | undefined }) {
  const { exitCode, signal, stderrTail } = details
  const how =
    typeof signal === 'string'
      ? `ended by ${signal}`
      : typeof exitCode === 'number'
        ? `exit code ${exitCode}`
        : undefined
  if (how === undefined && typeof stderrTail !== 'string') return null
  return (
    <div className="px-2.5 pb-1 text-xs text-soft">
      {how && <p className="pb-1">Process: {how}</p>}
      {typeof stderrTail === 'string' && <LazyTerminalText output={stderrTail} label="Last output" />}
    </div>
  )
}

/** A button that shows the changed files in the changes panel. */
function ChangedFiles({ files, folder }: { files: readonly string[]; folder: string }) {
  const sessionId = useSessionId()
  const paths = files.map((file) => relativePath(file, folder))
  return (
    <button
      type="button"
      className="min-w-0 truncate rounded text-left hover:text-ink hover:underline pointer-coarse:min-h-11"
      title={`Show the changes:\n${files.join('\n')}`}
      onClick={() => showChanges(sessionId, paths)}
    >
      {plural(files.length, 'file')} changed: {paths.slice(0, 3).join(', ')}
      {files.length > 3 && '…'}
    </button>
  )
}
