import { defined, type ForkWorktree, hasCode, ParleyError, type PlannedWorktree } from '@parley/protocol'
import { folderOf } from './file-restore.ts'
import { momentsSince } from './folder-moments.ts'
import type { LogPoint } from './point-before.ts'
import { isOfRemote } from './remote-worktrees.ts'
import type { SessionContext } from './session-services.ts'
import { settingsFor, worktreesOf } from './session-worktrees.ts'

type Fork = {
  readonly worktree: ForkWorktree
  /** The new session. */
  readonly into: string
  readonly title: string | undefined
  /** The moment of the fork. Absent: now. */
  readonly point: LogPoint | undefined
}

/**
 * Plans the worktree of a fork, with the commit and the files of its moment. Undefined if the fork exists already. Takes a
 * snapshot if the moment is now, and changes nothing else.
 */
export async function placeOfFork(
  context: SessionContext,
  { worktree: asked, into, title, point }: Fork,
): Promise<{ worktree: PlannedWorktree; cwd: string } | undefined> {
  const { services, log } = context
  const { project, cwd, worktree: present, title: words } = log.state
  if (await services.store.load(into)) return undefined
  if (project === undefined) throw new ParleyError('not_supported', 'This server does not support worktrees.')
  const { tree, head } = await momentOf(context, point)
  if (head === undefined)
    throw new ParleyError(
      'not_supported',
      'No commit was checked out at that moment, so the fork can have no worktree.',
    )
  const { copy = [] } = await settingsFor(services, project)
  const plan = await worktreesOf(services).plan(cwd, {
    ...asked,
    ...{ project, sessionId: into, words: title ?? words, wanted: { copy }, commit: head },
    // The source folder of the original's worktree. Trust and ignored files come from there, because the worktree of the
    // original may be removed.
    ...defined({ source: present?.source }),
  })
  const isRemote = present?.remote ?? (await isOfRemote(services, project, plan.worktree))
  if (!isRemote) return { ...plan, worktree: { ...plan.worktree, tree } }
  const { copy: _, ...worktree } = plan.worktree
  return { ...plan, worktree: { ...worktree, tree, remote: true } }
}

/** The files of the moment, and the commit that was checked out. */
async function momentOf(
  { services, log: { state } }: SessionContext,
  point: LogPoint | undefined,
): Promise<{ tree: string; head?: string | undefined }> {
  const folder = folderOf(services.sessionFolder)
  if (!point) return folder.snapshot(state.cwd, { sessionId: state.id })
  const { trees, head } = await momentsSince(services.store, state, point.seq).catch((error: unknown) => {
    throw hasCode(error, 'conflict') && error.details?.missing === 'snapshot' ? noSnapshot() : error
  })
  const [tree] = trees
  if (tree === undefined) throw noSnapshot()
  return { tree, head }
}

function noSnapshot(): ParleyError {
  const message =
    'There is no snapshot of the folder from before that prompt, so its files cannot be put into a worktree. Fork without a worktree.'
  return new ParleyError('conflict', message, { details: { missing: 'snapshot' } })
}
