import { reachedLimit, type TurnOutcome } from '@parley/protocol'
import {
  Check,
  ChevronRight,
  CircleAlert,
  CircleHelp,
  CircleStop,
  Hand,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react'
import { memo } from 'react'
import { turnTime, visible } from '../base/format.logic.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { ChangedFiles } from './changed-files.tsx'
import { promptSummary } from './prompt-text.logic.ts'
import type { Turn } from './turn.logic.ts'
import { costText } from './turn-end.logic.ts'
import { toggleTurn } from './turn-head.tsx'
import { Elapsed } from './working-row.tsx'

type Toggle = (key: string, open: boolean) => void
type LineProps = { turn: Turn; folder: string; onToggle: Toggle }

/** A collapsed turn: one line. A click on the line expands the turn. */
export const CollapsedTurn = memo(function CollapsedTurn({ turn, folder, onToggle }: LineProps) {
  return (
    <div className="flex min-h-9 items-center gap-2.5 rounded-lg border border-line bg-side pr-2.5 text-sm pointer-coarse:min-h-11">
      <button
        type="button"
        data-turn
        aria-expanded={false}
        title="Expand this turn"
        onClick={(event) => toggleTurn(event, () => onToggle(turn.key, true))}
        className="flex min-h-8.5 min-w-0 flex-1 items-center gap-2 rounded-lg pl-1.5 text-left hover:bg-hover/60 pointer-coarse:min-h-11"
      >
        <ChevronRight size={14} aria-hidden className="shrink-0 text-faint" />
        <TurnTitle turn={turn} />
      </button>
      <TurnFacts turn={turn} folder={folder} />
    </div>
  )
})

/** The first line of the prompt or notice that started the turn. */
export function TurnTitle({ turn }: { turn: Turn }) {
  const text = useTurnText(turn)
  const isAgents = turn.head?.type === 'notice' || text === undefined
  return (
    <span className={`min-w-0 flex-1 truncate ${isAgents ? 'text-soft' : 'font-medium'}`}>
      {turn.isTakenBack && 'Taken back: '}
      {text ? visible(text.slice(0, 300)) : 'Earlier prompt'}
    </span>
  )
}

/**
 * The text of the prompt or notice that started the turn. The prompt of the open turn is known even if its
 * block is not loaded.
 */
export function useTurnText({ head, turnId }: Turn): string | undefined {
  const open = useSessionState(({ turn }) => (turn?.turnId === turnId ? turn.prompt : undefined))
  if (head?.type === 'notice') return head.text
  const parts = head?.parts ?? open?.parts
  return parts && promptSummary(parts)
}

/** The status of a turn, its changed files, time and cost. Unknown facts are left out. */
export function TurnFacts({ turn, folder }: { turn: Turn; folder: string }) {
  const { end, files, turnId, waited } = turn
  const facts = end && [turnTime(end.end.durationMs, waited, true), costText(end.end)].filter(Boolean)
  return (
    <span className="flex shrink-0 items-center gap-2.5 text-xs text-soft tabular-nums">
      {end ? <Outcome {...end.end} /> : <Running turnId={turnId} />}
      {files && <ChangedFiles turnId={turnId} files={files} folder={folder} />}
      {facts && <span className="text-faint max-md:hidden">{facts.join(' · ')}</span>}
    </span>
  )
}

type Status = { icon: LucideIcon; label: string; look: string; quiet?: true }
const statuses: Record<TurnOutcome | 'limited', Status> = {
  completed: { icon: Check, label: 'Completed', look: 'text-faint', quiet: true },
  limited: { icon: CircleAlert, label: 'Limit reached', look: 'text-wait' },
  cancelled: { icon: CircleStop, label: 'Stopped', look: 'text-soft' },
  failed: { icon: CircleAlert, label: 'Failed', look: 'text-bad' },
  unknown: { icon: CircleHelp, label: 'Outcome unknown', look: 'text-wait' },
}

function Outcome({ outcome, stopReason }: { outcome: TurnOutcome; stopReason: string }) {
  const {
    icon: Icon,
    label,
    look,
    quiet,
  } = statuses[reachedLimit({ outcome, stopReason }) ? 'limited' : outcome]
  return (
    <span className={`flex items-center gap-1 font-medium ${look}`} title={label}>
      <Icon size={13} aria-hidden />
      <span className={quiet ? 'sr-only' : 'max-md:sr-only'}>{label}</span>
    </span>
  )
}

function Running({ turnId }: { turnId: string }) {
  const since = useSessionState(({ turn }) => (turn?.turnId === turnId ? turn.startedAt : undefined))
  const waits = useSessionState(({ status }) => status === 'waiting' || status === 'parked')
  if (since === undefined) return null
  if (waits)
    return (
      <span className="flex items-center gap-1 font-medium text-wait">
        <Hand size={13} aria-hidden /> Waiting
      </span>
    )
  return (
    <span className="flex items-center gap-1">
      <LoaderCircle size={13} aria-hidden className="animate-spin" />
      <span className="max-md:sr-only">Working</span> <Elapsed since={since} />
    </span>
  )
}
