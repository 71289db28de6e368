import type { OpenRequest } from '@parley/protocol'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { SessionFiles } from '../session-data/session-files.tsx'
import { useAnswerTo } from './answers.ts'
import type { RequestSession } from './choices.logic.ts'

const cards = lazyPart(() => import('./cards.tsx'))
/** Fetches the code of the cards ahead of time. */
export const fetchCards = () => cards.fetch()

type Props = {
  session: RequestSession
  request: OpenRequest
  takesFocus?: boolean
  /** The machine of the session, if no server runs there. */
  awaited?: string | undefined
}

export function RequestCard({ session, request, takesFocus = false, awaited }: Props) {
  const given = useAnswerTo(request.requestId)
  return (
    <Lazy part={cards}>
      {({ PermissionCard, QuestionCard, UnsentAnswer }) => {
        if (given?.waited) return <UnsentAnswer answer={given} />
        const card = { session, takesFocus, awaited }
        return (
          <SessionFiles session={session}>
            {request.type === 'permission' ? (
              <PermissionCard {...card} request={request} />
            ) : (
              <QuestionCard {...card} request={request} />
            )}
          </SessionFiles>
        )
      }}
    </Lazy>
  )
}
