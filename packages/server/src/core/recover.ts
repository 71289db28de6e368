import type { EventDraft, RecordedBy, SessionState } from '@parley/protocol'
import { blocksOfTurn, endTurn, turnWaits, writeText } from './end-turn.ts'
import type { Transaction } from './session-log.ts'
import { loseTasks } from './task-transactions.ts'

/**
 * The events that a restart must record for a session that was not idle. Pure.
 * - a turn that waits for a person, or has an answer that its agent has not received, is parked;
 * - a turn whose prompt never reached the agent remains open, and the prompt will be sent; if that turn was
 *   interrupted, it ends as cancelled;
 * - any other turn ends as unknown: the agent may have done things that are not in the log;
 * - a background task that waits for a person is parked if the agent can resume; any other task ends.
 */
export function recovery(
  state: SessionState,
  now: number,
  { canResume, recordedBy }: { canResume: boolean; recordedBy?: RecordedBy | undefined },
): Transaction {
  const { turn, connected } = state
  const killed = { reason: 'server-killed' as const, ...(recordedBy && { recordedBy }) }
  const park = canResume ? 'server-killed' : undefined
  const tasks = loseTasks(state, { reason: 'server-killed', park })
  const disconnected: EventDraft[] = connected ? [{ type: 'agent.disconnected', ...killed }, ...tasks] : tasks
  if (!turn || turn.parked) return { drafts: disconnected }
  if (turnWaits(state) && !turn.interrupted) {
    const parked: EventDraft = { type: 'turn.parked', turnId: turn.turnId, ...killed }
    return { drafts: [...disconnected, ...writeText(blocksOfTurn(state)), parked] }
  }
  if (!turn.delivered && !turn.interrupted) return { drafts: disconnected }
  const outcome = turn.delivered ? 'unknown' : 'cancelled'
  return { drafts: [...disconnected, ...endTurn(state, { outcome, stopReason: 'server_killed' }, now)] }
}
