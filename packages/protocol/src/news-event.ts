import type { SessionEvent } from './event.ts'

/**
 * Events that do not change `updatedAt`, by which the session list is sorted: starts and ends of processes, changes
 * that a person makes in the session list, forks, and what the host records by itself.
 */
const bookkeeping: ReadonlySet<string> = new Set([
  'agent.connected',
  'agent.disconnected',
  'session.renamed',
  'session.archived',
  'session.unarchived',
  'session.pinned',
  'session.unpinned',
  'session.forked',
  'session.handed-over',
  'session.released',
  'log.sealed',
  'snapshot.taken',
  'worktree.made',
  'worktree.prepared',
  'worktree.removed',
  'worktree.kept',
  'attempt.settled',
  'attempt.passed-over',
])

/**
 * True if the event changes `updatedAt`. A setting that an agent reports by itself, e.g. at its start, does not change
 * `updatedAt`; a requested setting does.
 */
export function isNews(event: SessionEvent): boolean {
  if (event.type === 'session.configured')
    return event.requested !== undefined || event.mcpServers !== undefined
  return !bookkeeping.has(event.type)
}
