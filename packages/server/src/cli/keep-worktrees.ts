import { newId, ParleyError, type Project, type SessionSummary } from '@parley/protocol'
import type { Logger } from 'pino'
import type { Clock, Host } from '../core/index.ts'

export type KeepingOptions = {
  /** A host that does not pass operations to other nodes. */
  readonly host: Pick<Host, 'projects' | 'list' | 'command'>
  /** Whether a shell is open in the session. */
  readonly isUsed: (sessionId: string) => boolean
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly clock: Pick<Clock, 'now'>
}

const dayMs = 24 * 60 * 60_000
const pageSize = 200

/**
 * Removes the worktrees that were unused for `keepDays` of their project and that would lose nothing. Does not reject:
 * the next sweep tries again.
 */
export async function sweepWorktrees(
  { host, isUsed, logger, clock }: KeepingOptions,
  isStopped = () => false,
): Promise<void> {
  try {
    for (const project of await host.projects()) {
      const { keepDays } = project.settings ?? {}
      if (keepDays === undefined) continue
      const before = clock.now() - keepDays * dayMs
      for (const session of await dueIn(host, project, before)) {
        if (isStopped()) return
        if (isUsed(session.id) || !(await isRemoved(host, session))) continue
        logger.info({ sessionId: session.id, days: keepDays }, 'removed an unused worktree')
      }
    }
  } catch (error) {
    logger.warn({ err: error }, 'could not look for unused worktrees')
  }
}

async function dueIn(host: Pick<Host, 'list'>, { id }: Project, before: number): Promise<SessionSummary[]> {
  const due: SessionSummary[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await host.list({ project: id, limit: pageSize, ...(cursor && { cursor }) })
    due.push(...page.sessions.filter((session) => isDue(session, before)))
    if (page.cursor === undefined) return due
    cursor = page.cursor
  }
}

function isDue({ worktree, pinned, status, paused = 0, updatedAt }: SessionSummary, before: number): boolean {
  const isOwn = worktree?.phase === 'ready' && worktree.of === undefined
  return isOwn && !pinned && status === 'idle' && paused === 0 && updatedAt < before
}

async function isRemoved(host: Pick<Host, 'command'>, { id }: SessionSummary): Promise<boolean> {
  const command = { type: 'worktree.remove', branch: 'delete', ifNothingLost: true } as const
  return host.command(id, { ...command, commandId: newId('cmd') }).then(
    () => true,
    (error: unknown) => {
      // The removal would lose something, or the session is in use, was deleted, or runs on another node.
      if (error instanceof ParleyError) return false
      throw error
    },
  )
}
