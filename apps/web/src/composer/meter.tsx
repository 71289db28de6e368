import type { SessionState } from '@parley/protocol'
import { amount, dollars } from '../base/format.logic.ts'
import { useSessionState } from '../session-data/session-context.tsx'

type Props = { usage: NonNullable<SessionState['usage']>; beside: 'much' | 'little' }

/** The usage of the context and, if there is room, the cost of the session, as reported by the agent. */
export default function Meter({ usage, beside }: Props) {
  const paidBy = useSessionState((state) => state.connection?.credential)
  const { used, window } = usage.context
  const share = window ? Math.min(1, used / window) : undefined
  const details = [
    window ? `Context: ${amount(used)} of ${amount(window)} tokens` : `Context: ${amount(used)} tokens`,
    `In: ${amount(usage.total.input)}, out: ${amount(usage.total.output)}`,
    usage.costUsd !== undefined &&
      (usage.notionalCost
        ? `At list price: ${dollars(usage.costUsd)}. Paid by your subscription${paidBy ? ` (${paidBy})` : ''}`
        : `Cost: ${dollars(usage.costUsd)}${paidBy ? ` (${paidBy})` : ''}`),
  ].filter(Boolean)
  return (
    <span
      className="flex shrink-0 items-center gap-1.5 px-1 text-xs whitespace-nowrap text-faint tabular-nums"
      title={details.join('\n')}
      data-testid="meter"
    >
      {share !== undefined && <Ring share={share} />}
      <span>
        <span className="sr-only">Context </span>
        {share === undefined ? amount(used) : `${Math.round(share * 100)}%`}
      </span>
      {usage.costUsd !== undefined && usage.costUsd > 0 && !usage.notionalCost && (
        <span className={beside === 'much' ? '[@media(height<38rem)]:@max-[25rem]:hidden' : ''}>
          {dollars(usage.costUsd)}
        </span>
      )}
    </span>
  )
}

function Ring({ share }: { share: number }) {
  const around = 2 * Math.PI * 6
  const color = share > 0.9 ? 'text-bad' : share > 0.7 ? 'text-wait' : 'text-mark'
  return (
    <svg viewBox="0 0 16 16" className={`size-3.5 -rotate-90 ${color}`} aria-hidden="true">
      <circle cx="8" cy="8" r="6" fill="none" strokeWidth="3" className="stroke-line" />
      <circle
        cx="8"
        cy="8"
        r="6"
        fill="none"
        strokeWidth="3"
        stroke="currentColor"
        strokeDasharray={`${share * around} ${around}`}
      />
    </svg>
  )
}
