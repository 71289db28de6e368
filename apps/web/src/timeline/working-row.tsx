import { isInBackground } from '@parley/protocol'
import { LoaderCircle } from 'lucide-react'
import { useEffect, useState } from 'react'
import { duration, visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useAwaited } from '../session-data/awaited.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { useStopTasks } from '../session-data/stop-turn.ts'

/**
 * The last row. It shows that the agent works, and the elapsed time, so that a silent agent is not mistaken
 * for an ended turn.
 */
export function WorkingRow({ isWriting, isEmpty }: { isWriting: boolean; isEmpty: boolean }) {
  const status = useSessionState((state) => state.status)
  const startedAt = useSessionState((state) => state.turn?.startedAt)
  const interrupted = useSessionState((state) => state.turn?.interrupted ?? false)
  const connected = useSessionState((state) => state.connected)
  const pausedText = useMay('decide')
    ? 'Agent paused until you answer'
    : 'Agent paused until somebody answers'
  const isAnswered = useSessionState((state) => state.requests.length === 0)
  const awaited = useAwaited()
  const awaits = useSessionState((state) => awaited?.lastRow(state))
  if (awaits) return <WaitingRow>{awaits}</WaitingRow>
  if (status === 'background') return <BackgroundRow />
  if (startedAt === undefined) {
    return <p className="h-6 px-1.5 text-sm text-faint">{isEmpty && 'No messages yet.'}</p>
  }
  if (status === 'waiting') return <div className="h-6" />
  if (status === 'parked') {
    return <WaitingRow>{isAnswered ? 'Answered; waiting for the agent to continue' : pausedText}</WaitingRow>
  }
  const label = interrupted
    ? 'Stopping'
    : !connected
      ? 'Starting the agent'
      : isWriting
        ? 'Writing'
        : 'Working'
  return (
    <p className="flex h-6 items-center gap-2 px-1.5 text-xs text-faint tabular-nums" data-testid="working">
      <LoaderCircle size={12} aria-hidden className="animate-spin" />
      {label} <Elapsed since={startedAt} />
    </p>
  )
}

function WaitingRow({ children }: { children: string }) {
  return <p className="flex min-h-6 items-center px-1.5 text-xs font-medium text-wait">{children}</p>
}

/** Shown while background tasks run and no turn is open. */
function BackgroundRow() {
  const tasks = useSessionState((state) => state.tasks).filter((task) => isInBackground(task))
  const [only] = tasks
  const label = tasks.length === 1 && only ? visible(only.title) : `${tasks.length} tasks`
  const stop = useStopTasks()
  const prompts = useMay('prompt')
  return (
    <p className="flex min-h-6 items-center gap-2 px-1.5 text-xs text-faint" data-testid="background">
      <LoaderCircle size={12} aria-hidden className="animate-spin" />
      <span className="min-w-0 truncate">Working in the background: {label}</span>
      {prompts && (
        <button
          type="button"
          className="shrink-0 rounded px-1.5 py-0.5 font-medium text-soft hover:bg-hover pointer-coarse:min-h-11"
          onClick={() => stop()}
        >
          {tasks.length === 1 ? 'Stop task' : 'Stop tasks'}
        </button>
      )}
    </p>
  )
}

export function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const ms = now - since
  return ms >= 2000 ? <span>{duration(Math.floor(ms / 1000) * 1000)}</span> : null
}
