import { defined, type PlannedWorktree } from '@parley/protocol'
import type { SessionServices } from './session-services.ts'

const pageSize = 500

/**
 * True if a new worktree begins at the branch, or in the folder, of a worktree that began at a branch of a remote.
 * Such a worktree can contain commits of strangers, so it inherits neither the trust of the source folder nor
 * settings of the project.
 */
export async function isOfRemote(
  { store, place }: Pick<SessionServices, 'store' | 'place'>,
  project: string,
  { from, source }: Pick<PlannedWorktree, 'from' | 'source'>,
): Promise<boolean> {
  const at = { project, ...defined({ place }) }
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
