import { defined, type KnownWorktree, type PlannedWorktree, type SessionState } from '@parley/protocol'
import type { SessionServices } from './session-services.ts'
import type { StoredProjectSetting } from './session-store.ts'
import { isRemoteMark, remoteMark } from './session-worktrees.ts'

/**
 * Finds out which worktrees began at a branch of a remote, from the records of their sessions and the marks of deleted
 * sessions.
 */

type Services = Pick<SessionServices, 'store' | 'place'>
const pageSize = 500

/**
 * True if a new worktree begins at the branch, or in the folder, of a worktree that began at a branch of a remote.
 * Such a worktree can contain commits of strangers, so it inherits neither the trust of the source folder nor
 * settings of the project.
 */
export async function isOfRemote(
  { store, place }: Services,
  project: string,
  { from, source }: Pick<PlannedWorktree, 'from' | 'source'>,
): Promise<boolean> {
  const at = { project, ...defined({ place }) }
  const marks = await marksOf({ store, place })
  const isMarked = marks.some(
    (mark) =>
      mark.project === project &&
      ((from !== undefined && mark.field === remoteMark(from)) || mark.value === source),
  )
  if (isMarked) return true
  let cursor: string | undefined
  do {
    const page = await store.list({ project: at, limit: pageSize, ...defined({ cursor }) })
    for (const { id, worktree } of page.sessions) {
      if (!worktree || (worktree.branch !== from && worktree.path !== source)) continue
      const { state } = (await store.load(id)) ?? {}
      if (state?.worktree?.remote) return true
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return false
}

/** Marks the branch of a session that is about to be deleted, if its worktree began at a branch of a remote. */
export async function keepRemoteMark(
  { store, clock }: Pick<SessionServices, 'store' | 'clock'>,
  { id, project, worktree }: SessionState,
): Promise<void> {
  if (!worktree || project === undefined || !mayLeaveBranch(worktree)) return
  const { place } = (await store.load(id)) ?? {}
  const field = remoteMark(worktree.branch)
  await store.setProjectSettings([
    { project, ...defined({ place }), field, value: worktree.path, at: clock.now() },
  ])
}

/** The session for which a worktree was made marks its branch; one that only works there too (`of`) does not. */
function mayLeaveBranch({ remote, of, removed, phase }: KnownWorktree): boolean {
  return remote === true && of === undefined && (phase !== 'removed' || removed?.branch === 'kept')
}

/** Removes the marks of a worktree whose branch was deleted. */
export async function dropRemoteMark(services: Services, path: string): Promise<void> {
  const marks = (await marksOf(services)).filter(({ value }) => value === path)
  if (marks.length > 0)
    await services.store.setProjectSettings(marks.map((mark) => ({ ...mark, value: null })))
}

async function marksOf({ store, place }: Services): Promise<StoredProjectSetting[]> {
  return (await store.projectSettings()).filter((one) => isRemoteMark(one) && one.place === place)
}
