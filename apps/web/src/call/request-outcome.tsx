import type { BlockOf } from '@parley/protocol'
import { CircleCheck, CircleSlash, Hand } from 'lucide-react'
import { outcomeText } from './answer-text.logic.ts'

/** The outcome of a permission, below its call. Nothing is shown if a mode or rule allowed it. */
export function RequestOutcome({ block }: { block: BlockOf<'permission'> }) {
  const { resolution } = block
  if (!resolution) {
    return (
      <p className="flex items-center gap-1.5 py-0.5 pl-8 text-xs font-medium text-wait">
        <Hand size={12} aria-hidden /> Needs your approval
      </p>
    )
  }
  if (resolution.outcome === 'allowed' && resolution.by !== 'person') return null
  const allowed = resolution.outcome === 'allowed'
  return (
    <p className={`flex items-center gap-1.5 pl-8 text-xs ${allowed ? 'text-faint' : 'text-wait'}`}>
      {allowed ? <CircleCheck size={12} aria-hidden /> : <CircleSlash size={12} aria-hidden />}
      {outcomeText(block, resolution)}
    </p>
  )
}
