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
 * - a check that ran is recorded as one that did not end;
 * - a background task that waits for a person is parked if the agent can resume; any other task ends.
 */
export function recovery(
  state: SessionState,
  now: number,
  { canResume, recordedBy }: { canResume: boolean; recordedBy?: RecordedBy | undefined },
): Transaction {
  const { turn, connected } = state
  const check = interruptedCheck(state, now)
  const killed = { reason: 'server-killed' as const, ...(recordedBy && { recordedBy }) }
  const park = canResume ? 'server-killed' : undefined
  const tasks = loseTasks(state, { reason: 'server-killed', park })
  const lost: EventDraft[] = connected ? [{ type: 'agent.disconnected', ...killed }, ...tasks] : tasks
  const disconnected = [...check, ...lost]
  if (!turn || turn.parked) return { drafts: disconnected }
  if (turnWaits(state) && !turn.interrupted) {
    const parked: EventDraft = { type: 'turn.parked', turnId: turn.turnId, ...killed }
    return { drafts: [...disconnected, ...writeText(blocksOfTurn(state)), parked] }
  }
  if (!turn.delivered && !turn.interrupted) return { drafts: disconnected }
  const outcome = turn.delivered ? 'unknown' : 'cancelled'
  return { drafts: [...disconnected, ...endTurn(state, { outcome, stopReason: 'server_killed' }, now)] }
}

function interruptedCheck({ checks }: SessionState, now: number): EventDraft[] {
  const { running } = checks ?? {}
  if (!running) return []
  const message = 'The server ended while the check ran. Run it again.'
  const { command, since } = running
  const durationMs = Math.max(0, now - since)
  return [{ type: 'check.ran', command, durationMs, tail: '', error: { code: 'cancelled', message } }]
}
