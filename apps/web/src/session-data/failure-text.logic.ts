import type { SessionSummary } from '@parley/protocol'

/** The failure of a session, short enough for a row of the list. Undefined if the session did not fail. */
export function failureText(session: Pick<SessionSummary, 'status' | 'failure'>): string | undefined {
  const { failure, status } = session
  if (!failure || status !== 'idle') return undefined
  if (failure.code === 'agent_not_signed_in') return 'Not signed in'
  if (failure.code === 'agent_not_found') return 'Agent not found'
  return failure.outcome === 'unknown' ? 'Interrupted' : 'Failed'
}
