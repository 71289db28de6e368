import type { BlockOf } from '@parley/protocol'
import { CircleStop } from 'lucide-react'
import { memo } from 'react'
import { useNow } from '../base/clock.ts'
import { amount, dollars, plural, relativePath, timeOf, turnTime } from '../base/format.logic.ts'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { openChanges } from '../session-data/shown-changes.ts'

const endNotes = lazyPart(() => import('./end-notes.tsx'))

type Props = { block: BlockOf<'turn-end'>; files: readonly string[]; waited: number; folder: string }

/** The end of a turn: its outcome, its cost and the files that it changed. */
export const EndRow = memo(function EndRow({ block, files, waited, folder }: Props) {
  const { outcome, stopReason, durationMs, usage, costUsd, notionalCost, error } = block.end
  const hasNotes =
    error !== undefined ||
    block.end.structuredOutput !== undefined ||
    (outcome !== 'cancelled' && (outcome !== 'completed' || stopReason !== 'end_turn'))
  const facts = [
    timeOf(block.at, useNow()),
    turnTime(durationMs, waited),
    usage && `${amount(usage.input + usage.output)} tokens`,
    costUsd !== undefined && costUsd > 0 && `${dollars(costUsd)}${notionalCost ? ' at list price' : ''}`,
  ].filter(Boolean)
  return (
    <div>
      {hasNotes && (
        <Lazy part={endNotes}>{(EndNotes) => <EndNotes turnId={block.turnId} end={block.end} />}</Lazy>
      )}
      <p className="flex flex-wrap items-center gap-x-2.5 px-1.5 pt-0.5 pb-2 text-xs text-faint tabular-nums">
        {outcome === 'cancelled' && (
          <span className="flex items-center gap-1 font-medium text-soft">
            <CircleStop size={12} aria-hidden /> Stopped
          </span>
        )}
        {facts.join(' · ')}
        {files.length > 0 && <ChangedFiles files={files} turnId={block.turnId} folder={folder} />}
      </p>
    </div>
  )
})

/** A button that shows the changed files in the changes panel. */
function ChangedFiles({
  files,
  turnId,
  folder,
}: Pick<Props, 'files' | 'folder'> & { turnId: string | undefined }) {
  const sessionId = useSessionId()
  const paths = files.map((file) => relativePath(file, folder))
  return (
    <button
      type="button"
      className="min-w-0 truncate rounded text-left hover:text-ink hover:underline pointer-coarse:min-h-11"
      title={`Show the changes:\n${files.join('\n')}`}
      onClick={() => openChanges(sessionId, { scope: 'turn', ...(turnId && { turnId }), paths })}
    >
      {plural(files.length, 'file')} changed: {paths.slice(0, 3).join(', ')}
      {files.length > 3 && '…'}
    </button>
  )
}
