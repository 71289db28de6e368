import type { OpenRequest } from '@parley/protocol'
import { PermissionCard } from './permission-card.tsx'
import { QuestionCard } from './question-card.tsx'

export function RequestCard({
  session,
  request,
  takesFocus = false,
}: {
  session: { readonly id: string; readonly agent: string; readonly cwd: string }
  request: OpenRequest
  takesFocus?: boolean
}) {
  return request.type === 'permission' ? (
    <PermissionCard session={session} ask={request} takesFocus={takesFocus} />
  ) : (
    <QuestionCard session={session} ask={request} takesFocus={takesFocus} />
  )
}
