import type { EventOf, SessionEvent } from '@parley/protocol'

/**
 * True if a rule, the mode or a carried answer decided the request. Its resolution then directly follows the request,
 * and no person was asked.
 */
export function isDecidedAutomatically(
  request: EventOf<'permission.requested'>,
  next: SessionEvent,
): next is EventOf<'permission.resolved'> {
  if (next.type !== 'permission.resolved' || next.requestId !== request.requestId) return false
  return next.by === 'rule' || next.by === 'mode' || next.carriedFrom !== undefined
}
