import type { SessionSummary } from '@parley/protocol'
import { TriangleAlert } from 'lucide-react'
import { useMay } from '../base/self.ts'
import { failureText } from '../session-data/failure-text.logic.ts'

const names = {
  idle: 'idle',
  working: 'working',
  waiting: 'needs an answer',
  parked: 'needs an answer, agent paused',
  background: 'working in the background',
}

function nameOf(status: SessionSummary['status'], decides: boolean): string {
  return decides ? names[status].replace('an answer', 'your answer') : names[status]
}

type Props = {
  session: Pick<SessionSummary, 'status' | 'failure'>
  unread: boolean
  /** Whether the reason of a failure is written beside the mark. */
  isFailureBeside?: boolean
}

/** The status of a session as a small mark, with a name for screen readers. */
export function StatusMark({ session, unread, isFailureBeside = false }: Props) {
  const { status, failure } = session
  const failed = failureText(session)
  const decides = useMay('decide')
  const name = failed ?? (status === 'idle' && unread ? 'unread' : nameOf(status, decides))
  const look = {
    // Hollow, to differ from the mark of an unread session when motion is reduced.
    working: 'breathe border-2 border-mark',
    background: 'breathe border-2 border-dotted border-mark',
    waiting: decides ? 'bg-wait-fill' : 'bg-faint',
    parked: decides ? 'border-2 border-wait-fill' : 'border-2 border-faint',
    idle: unread ? 'bg-mark' : 'bg-transparent',
  }[status]
  const title = failed && failure?.message ? `${failed}: ${failure.message}` : name
  return (
    <span
      className={`flex h-5 w-4 shrink-0 items-center justify-center ${failed ? 'text-bad' : ''}`}
      title={title === 'idle' ? undefined : title}
    >
      {failed ? <TriangleAlert size={13} aria-hidden /> : <span className={`size-2 rounded-full ${look}`} />}
      {name !== 'idle' && !(failed && isFailureBeside) && <span className="sr-only">{`${name} `}</span>}
    </span>
  )
}
