import type { Block, SessionState } from '@parley/protocol'

/** The changes of a turn that ended longer ago than this are not new. */
const newMs = 60 * 60_000

const writes: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** Whether the agent has recently changed files in the folder. `last` is the last block that ended. */
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
