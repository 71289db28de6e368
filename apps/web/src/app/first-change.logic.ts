import type { Block, SessionState } from '@parley/protocol'

/** How long ago a turn may have ended for its changes to be new to the person. */
const newMs = 60 * 60_000

const writes: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** Whether the agent has changed files in the folder a short time ago. `last` is the last block that ended. */
export function hasNewChanges(
  { turn, lastTurn, snapshots }: Pick<SessionState, 'turn' | 'lastTurn' | 'snapshots'>,
  last: Block | undefined,
  now: number,
): boolean {
  if (turn && last?.type === 'tool-call' && last.status === 'completed' && writes.has(last.kind)) return true
  if (!lastTurn || now - lastTurn.endedAt > newMs) return false
  const { before, after } = snapshots?.turns.findLast(({ turnId }) => turnId === lastTurn.turnId) ?? {}
  return before !== undefined && after !== undefined && before.tree !== after.tree
}
