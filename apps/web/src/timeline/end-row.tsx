import type { BlockOf } from '@parley/protocol'
import { CircleStop } from 'lucide-react'
import { memo } from 'react'
import { useNow } from '../base/clock.ts'
import { amount, timeOf, turnTime } from '../base/format.logic.ts'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { ChangedFiles } from './changed-files.tsx'
import { costText } from './turn-end.logic.ts'

const endNotes = lazyPart(() => import('./end-notes.tsx'))

type Props = { block: BlockOf<'turn-end'>; files: readonly string[]; waited: number; folder: string }

/** The end of a turn: its outcome, its cost and the files that it changed. */
export const EndRow = memo(function EndRow({ block, files, waited, folder }: Props) {
  const { outcome, stopReason, durationMs, usage, error } = block.end
  const hasNotes =
    error !== undefined ||
    block.end.structuredOutput !== undefined ||
    (outcome !== 'cancelled' && (outcome !== 'completed' || stopReason !== 'end_turn'))
  const facts = [
    timeOf(block.at, useNow()),
    turnTime(durationMs, waited),
    usage && `${amount(usage.input + usage.output)} tokens`,
    costText(block.end),
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
        <ChangedFiles turnId={block.turnId} files={files} folder={folder} names />
      </p>
    </div>
  )
})
