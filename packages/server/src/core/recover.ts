import type { EventDraft, SessionState } from '@parley/protocol'
import { endTurn, writeOpenText } from './end-turn.ts'
import type { Plan } from './session-log.ts'

/**
 * What a restart must record of a session that was not at rest. Pure.
 * - a turn that waits for a person, or has an answer that its agent has not heard, stays open, parked;
 * - a turn whose prompt never reached the agent stays open, and will be delivered;
 * - any other ends as unknown: the agent may have done things that nobody saw.
 */
export function recoveryPlan(state: SessionState, now: number): Plan {
  const { turn, connected, requests } = state
  const disconnected: EventDraft[] = connected
    ? [{ type: 'agent.disconnected', reason: 'server-killed' }]
    : []
  if (!turn || turn.parked) return { drafts: disconnected }
  if ((requests.length > 0 || turn.carried.length > 0) && !turn.interrupted) {
    const parked: EventDraft = { type: 'turn.parked', turnId: turn.turnId, reason: 'server-killed' }
    return { drafts: [...disconnected, ...writeOpenText(state), parked] }
  }
  if (!turn.delivered && !turn.interrupted) return { drafts: disconnected }
  const outcome = turn.delivered ? 'unknown' : 'cancelled'
  return { drafts: [...disconnected, ...endTurn(state, { outcome, stopReason: 'server_killed' }, now)] }
}
