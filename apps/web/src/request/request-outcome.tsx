import type { BlockOf, PermissionResolution, ToolKind } from '@parley/protocol'
import { CircleCheck, CircleSlash, Hand } from 'lucide-react'
import { visible } from '../page/words.logic.ts'

/** What became of a permission, under the call it was about. Nothing where a mode or rule allowed it: that is no news. */
export function RequestOutcome({ block }: { block: BlockOf<'permission'> }) {
  const { resolution } = block
  if (!resolution) {
    return (
      <p className="flex items-center gap-1.5 py-0.5 pl-8 text-xs font-medium text-wait">
        <Hand size={12} aria-hidden /> Waits for you
      </p>
    )
  }
  if (resolution.outcome === 'allowed' && resolution.by !== 'person') return null
  const allowed = resolution.outcome === 'allowed'
  return (
    <p className={`flex items-center gap-1.5 pl-8 text-xs ${allowed ? 'text-faint' : 'text-wait'}`}>
      {allowed ? <CircleCheck size={12} aria-hidden /> : <CircleSlash size={12} aria-hidden />}
      {outcomeWords(resolution, block.request.kind)}
    </p>
  )
}

const scopes = { once: 'once', session: 'for this session', project: 'in this folder', always: 'always' }

export function outcomeWords(
  { outcome, scope, by, message, input }: PermissionResolution,
  kind: ToolKind,
): string {
  if (outcome === 'cancelled') return 'Not answered: the turn ended'
  if (outcome === 'expired') return 'Nobody answered in time'
  const whose = {
    person: 'by you',
    rule: 'by a rule',
    mode: 'by the mode',
    timeout: 'by timeout',
    'turn-end': '',
  }[by]
  const isPlan = kind === 'plan'
  const reason = message ? `: ${visible(message)}` : ''
  if (outcome === 'denied') return `${isPlan ? 'Not approved' : 'Denied'} ${whose}${reason}`
  if (isPlan) return `Approved ${whose}`
  return `Allowed ${scopes[scope ?? 'once']} ${whose}${input === undefined ? '' : ', with changes'}`
}
