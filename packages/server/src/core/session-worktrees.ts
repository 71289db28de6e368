import { defined, ParleyError, type PlannedWorktree } from '@parley/protocol'
import type { SessionServices } from './session-services.ts'
import type { RemoteMark, SessionStore, StoredProjectSetting } from './session-store.ts'
import type { Worktrees } from './worktrees.ts'

/** Functions for worktrees that several parts of core use. */

export function worktreesOf({ worktrees }: Pick<SessionServices, 'worktrees'>): Worktrees {
  if (worktrees) return worktrees
  throw new ParleyError('not_supported', 'This server does not support worktrees.')
}

type OwnSettings = {
  readonly base?: string
  readonly setup?: string
  readonly check?: string
  readonly copy?: readonly string[]
  readonly keepDays?: number
}

/** The settings of a project at the place of this process. Empty for a session without a project. */
export async function settingsFor(
  { store, place }: Pick<SessionServices, 'store' | 'place'>,
  project: string | undefined,
): Promise<OwnSettings> {
  if (project === undefined) return {}
  const rows = await store.projectSettings()
  const own = rows.filter((row) => row.project === project && row.place === place)
  return Object.fromEntries(own.map(({ field, value }) => [field, value]))
}

/** Whether a stored setting is a mark of a branch, which nobody has set and nobody is shown. */
export function isRemoteMark(setting: Pick<StoredProjectSetting, 'field'>): boolean {
  return setting.field.startsWith(remoteMark(''))
}

export const remoteMark = (branch: string): RemoteMark => `remote ${branch}`

/** The worktree of another session, in the form in which a session that works in it records the worktree. */
export function sharedWorktree(sessionId: string, worktree: PlannedWorktree): PlannedWorktree {
  const { branch, base, from, path, source, remote, of = sessionId } = worktree
  return { branch, base, path, source, of, ...defined({ from, remote }) }
}

/**
 * The local branch from which the worktree of a session was made. Undefined for a branch of another repository, whose
 * name says nothing about the local branches.
 */
export function branchMadeFrom(worktree: PlannedWorktree | undefined): string | undefined {
  return worktree?.remote ? undefined : worktree?.from
}

const pageSize = 500

/** The other sessions that work in a worktree, without archived ones. */
export async function othersIn(
  store: Pick<SessionStore, 'list'>,
  { sessionId, project, path }: { sessionId: string; project: string | undefined; path: string },
) {
  const found = []
  for (let cursor: string | undefined; ; ) {
    const at = project === undefined ? {} : { project: { project } }
    const page = await store.list({ ...at, archived: false, limit: pageSize, ...(cursor && { cursor }) })
    found.push(...page.sessions.filter(({ id, worktree }) => id !== sessionId && worktree?.path === path))
    if (page.cursor === undefined) return found
    cursor = page.cursor
  }
}
