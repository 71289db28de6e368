import type { OpenRequest } from '@parley/protocol'
import { useAnswerTo } from './kept-answers.ts'
import { PermissionCard } from './permission-card.tsx'
import { QuestionCard } from './question-card.tsx'
import { UnsentAnswer } from './unsent-answer.tsx'

export function RequestCard({
  session,
  request,
  takesFocus = false,
}: {
  session: { readonly id: string; readonly agent: string; readonly cwd: string }
  request: OpenRequest
  takesFocus?: boolean
}) {
  const given = useAnswerTo(request.requestId)
  if (given?.waited) return <UnsentAnswer answer={given} />
  return request.type === 'permission' ? (
    <PermissionCard session={session} ask={request} takesFocus={takesFocus} />
  ) : (
    <QuestionCard session={session} ask={request} takesFocus={takesFocus} />
  )
}
