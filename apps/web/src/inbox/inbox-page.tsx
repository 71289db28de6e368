import type { WaitingRequest } from '@parley/protocol'
import { CircleCheck } from 'lucide-react'
import { useEffect } from 'react'
import { useAgentName } from '../base/agents.ts'
import { useNow } from '../base/clock.ts'
import { errorText } from '../base/error-text.logic.ts'
import { ago, folderName, visible } from '../base/format.logic.ts'
import { awaitedName } from '../base/nodes.logic.ts'
import { useNodes } from '../base/nodes.ts'
import { useMay } from '../base/self.ts'
import { fetchDiffs } from '../parts/diff/diff-view.tsx'
import { BackToSessions, Link } from '../parts/link.tsx'
import { NotificationPermission } from '../parts/notification-permission.tsx'
import { useGivenAnswers, useUnansweredFirst } from '../request/answers.ts'
import { fetchCards, RequestCard } from '../request/request-card.tsx'
import { UnsentAnswer } from '../request/unsent-answer.tsx'
import { useAllSessions } from '../session-data/session-list.ts'
import { useWaiting } from '../session-data/waiting-list.ts'

/** The open requests of all sessions, which can be answered here. */
export default function InboxPage() {
  useEffect(fetchDiffs, [])
  useEffect(fetchCards, [])
  const { requests, status, error, away } = useWaiting()
  const decides = useMay('decide')
  const first = useUnansweredFirst(requests.map(({ request }) => request)).open[0]?.requestId
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto w-full max-w-3xl px-5 py-6 max-md:px-3 max-md:py-2">
        <div className="flex flex-wrap items-center pb-4">
          <BackToSessions />
          <h1 className="mr-2 flex-auto text-title font-semibold tracking-tight whitespace-nowrap">Inbox</h1>
          <NotificationPermission />
        </div>
        {away && (
          <p className="pb-4 text-sm text-soft">
            {requests.length > 0
              ? 'Offline. These requests were open when the server last answered; your answers are sent when it answers again.'
              : 'Offline. Open requests are shown when the server is reachable again.'}
          </p>
        )}
        {requests.length === 0 && !away && (
          <p className="flex items-center gap-2 text-sm text-soft">
            {status === 'loading' && !error ? (
              'Loading…'
            ) : error && status !== 'live' ? (
              errorText(error)
            ) : (
              <>
                <CircleCheck size={16} className="text-good" aria-hidden /> No open requests. When an agent
                needs {decides ? 'your' : 'an'} answer, its request appears here.
              </>
            )}
          </p>
        )}
        <ul className="flex flex-col gap-5">
          {requests.map((waiting) => (
            <InboxEntry
              key={waiting.request.requestId}
              waiting={waiting}
              first={decides && waiting.request.requestId === first}
            />
          ))}
          <UnlistedAnswers requests={requests} />
        </ul>
      </div>
    </div>
  )
}

/** Unsent answers to requests that this page does not list because the server is unreachable. */
function UnlistedAnswers({ requests }: { requests: readonly WaitingRequest[] }) {
  const alone = useGivenAnswers().filter(
    ({ waited, state, requestId }) =>
      waited && state !== 'sent' && !requests.some(({ request }) => request.requestId === requestId),
  )
  return alone.map((answer) => (
    <li key={answer.commandId}>
      <UnsentAnswer answer={answer} />
    </li>
  ))
}

function InboxEntry({ waiting: { session, request }, first }: { waiting: WaitingRequest; first: boolean }) {
  const now = useNow()
  const agentName = useAgentName(session.agent)
  const listed = useAllSessions().sessions.find(({ id }) => id === session.id)
  const awaited = useNodes(({ nodes }) => awaitedName(nodes, listed?.place))
  return (
    <li>
      <p className="flex items-baseline gap-2 px-1 pb-1.5 text-xs text-faint">
        <Link
          to={{ name: 'session', id: session.id }}
          className="truncate text-sm font-medium text-ink hover:underline pointer-coarse:py-3"
        >
          {visible(session.title) || 'Untitled'}
        </Link>
        <span className="shrink-0">{agentName}</span>
        <span className="truncate" title={session.cwd}>
          {folderName(session.cwd)}
        </span>
        <span className="ml-auto shrink-0">{ago(request.at, now)}</span>
      </p>
      <RequestCard session={session} request={request} takesFocus={first} awaited={awaited} />
    </li>
  )
}
