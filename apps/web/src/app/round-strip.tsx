import { Columns3 } from 'lucide-react'
import { Link } from '../parts/link.tsx'
import { useSessionState } from '../session-data/session-context.tsx'

const picks = { picked: ' · picked', 'passed-over': ' · another attempt was picked' }

/** Says which attempt of a round the session is, and links to the round. */
export default function RoundStrip() {
  const round = useSessionState((state) => state.round)
  if (!round) return null
  const { id, attempt, count, pick } = round
  return (
    <div className="flex min-h-8 items-center gap-2 border-b border-line bg-side px-4 text-xs text-soft max-md:px-3 pointer-coarse:min-h-11">
      <Columns3 size={14} aria-hidden className="shrink-0" />
      <p className="min-w-0 flex-1 truncate">
        Attempt {attempt} of {count} of a round
        {pick && picks[pick.state]}
      </p>
      <Link
        to={{ name: 'round', id, attempt }}
        className="shrink-0 rounded px-1.5 py-1 font-medium text-mark hover:underline pointer-coarse:py-3"
      >
        Compare the attempts
      </Link>
    </div>
  )
}
