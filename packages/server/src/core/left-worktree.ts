import { errorInfoOf, type KeptWorktree, type KnownWorktree, type SessionState } from '@parley/protocol'
import type { SessionServices } from './session-services.ts'
import { othersIn, worktreesOf } from './session-worktrees.ts'

/**
 * The reason why the worktree of an attempt that was passed over must be kept. Undefined if the worktree can be
 * removed: the branch keeps its commits, and a snapshot its other files, except those that are ignored or left out.
 * Ignored folders do not count.
 */
export async function keptFor(
  services: SessionServices,
  { id: sessionId, project }: SessionState,
  worktree: KnownWorktree,
): Promise<KeptWorktree | undefined> {
  try {
    const worktrees = worktreesOf(services)
    if (!(await worktrees.isThere(worktree))) return undefined
    const others = await othersIn(services.store, { sessionId, project, path: worktree.path })
    const { loss } = await worktrees.examine(worktree)
    const { ignoredFiles, loose, leftOut } = loss
    const kept: KeptWorktree = {
      ...(others.length > 0 && { sessions: others.map(({ id }) => id) }),
      ...(ignoredFiles > 0 && { ignoredFiles }),
      ...(loose > 0 && { loose }),
      ...(leftOut.length > 0 && { leftOut }),
    }
    return Object.keys(kept).length > 0 ? kept : undefined
  } catch (error) {
    return { error: errorInfoOf(error) }
  }
}
