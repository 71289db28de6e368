import { LoaderCircle } from 'lucide-react'
import { useEffect, useState } from 'react'
import { duration } from '../page/words.logic.ts'
import { useStatePart } from '../session/session-context.tsx'

/** The last row: says that and how long the agent has been at it, so that silence is not taken for the end. */
export function WorkingRow({ isWriting, isEmpty }: { isWriting: boolean; isEmpty: boolean }) {
  const status = useStatePart((state) => state.status)
  const startedAt = useStatePart((state) => state.turn?.startedAt)
  const interrupted = useStatePart((state) => state.turn?.interrupted ?? false)
  const connected = useStatePart((state) => state.connected)
  if (startedAt === undefined) {
    return <p className="h-6 px-1.5 text-sm text-faint">{isEmpty && 'Nothing was said here yet.'}</p>
  }
  if (status === 'waiting') return <div className="h-6" />
  if (status === 'parked') {
    return (
      <p className="flex h-6 items-center px-1.5 text-xs font-medium text-wait">
        The agent rests until you answer.
      </p>
    )
  }
  const words = interrupted
    ? 'Stopping'
    : !connected
      ? 'Starting the agent'
      : isWriting
        ? 'Writing'
        : 'Working'
  return (
    <p className="flex h-6 items-center gap-2 px-1.5 text-xs text-faint tabular-nums" data-testid="working">
      <LoaderCircle size={12} aria-hidden className="animate-spin" />
      {words} <Elapsed since={startedAt} />
    </p>
  )
}

function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const ms = now - since
  return ms >= 2000 ? <span>{duration(Math.floor(ms / 1000) * 1000)}</span> : null
}
