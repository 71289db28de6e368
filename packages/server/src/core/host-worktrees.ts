import {
  type BranchFate,
  errorInfoOf,
  isWorktreeUnderWay,
  type ListedWorktree,
  losesNothing,
  ParleyError,
  type PlannedWorktree,
  type SessionState,
  type SessionWorktree,
  type WorktreeOffer,
} from '@parley/protocol'
import type { HostOptions } from './host-options.ts'
import { dropRemoteMark } from './remote-worktrees.ts'
import type { SessionServices } from './session-services.ts'
import type { SessionStore } from './session-store.ts'
import { othersIn, settingsFor, worktreesOf } from './session-worktrees.ts'
import type { FoundFolder, Worktrees } from './worktrees.ts'

/** The worktrees of a host. The commands `worktree.*` change those of sessions. */
export type HostWorktrees = {
  /**
   * The branches and files from which a worktree for a new session in the folder can be made, or the reason why none
   * can be made.
   */
  offerWorktree(folder: string): Promise<WorktreeOffer>
  /** The folders of worktrees on this machine. */
  worktrees(): Promise<ListedWorktree[]>
  /** The worktree of a session. Rejects with ParleyError `not_found` if it has none. */
  worktree(sessionId: string): Promise<SessionWorktree>
  /** Removes a worktree whose session was deleted. Rejects with ParleyError `conflict` if it has a session. */
  removeOrphan(name: string, branch: BranchFate): Promise<void>
}

type Parts = {
  readonly services: SessionServices
  readonly folders: Pick<HostOptions, 'checkFolder' | 'projectOf'>
  readonly state: (sessionId: string) => Promise<SessionState>
}

export function createHostWorktrees({ services, folders, state: stateOf }: Parts): HostWorktrees {
  const { store } = services
  return {
    async offerWorktree(given) {
      const folder = await folders.checkFolder(given)
      try {
        const worktrees = worktreesOf(services)
        const project = (await folders.projectOf?.(folder))?.project
        const { copy = [], setup } = await settingsFor(services, project)
        return { ...(await worktrees.offer(folder, { copy })), setup: setup !== undefined }
      } catch (thrown) {
        if (!(thrown instanceof ParleyError) || thrown.code !== 'not_supported') throw thrown
        return { ...nothing, refused: errorInfoOf(thrown) }
      }
    },
    async worktrees() {
      const worktrees = worktreesOf(services)
      const found = await worktrees.list()
      const all: ListedWorktree[] = []
      // Worktrees are examined in groups, because each examination starts several processes.
      for (let start = 0; start < found.length; start += listedAtOnce) {
        const some = found.slice(start, start + listedAtOnce)
        all.push(...(await Promise.all(some.map((folder) => listed(worktrees, store, folder)))))
      }
      return all
    },
    async worktree(sessionId) {
      const { worktree, project } = await stateOf(sessionId)
      if (!worktree) throw new ParleyError('not_found', 'This session has no worktree.')
      const worktrees = worktreesOf(services)
      const [isThere, others] = await Promise.all([
        worktrees.isThere(worktree),
        othersIn(store, { sessionId, project, path: worktree.path }),
      ])
      const examined =
        isThere && !isWorktreeUnderWay(worktree) ? await worktrees.examine(worktree) : undefined
      const { bytes, loss } = examined ?? {}
      return {
        ...{ worktree, isThere, others: others.map(({ id }) => id) },
        ...(bytes !== undefined && { bytes }),
        ...(loss && { loss }),
      }
    },
    async removeOrphan(name, branch) {
      const worktrees = worktreesOf(services)
      const folder = (await worktrees.list()).find((one) => one.name === name)
      const orphan = folder && (await worktrees.found(name))
      if (!folder || !orphan) throw new ParleyError('not_found', `There is no worktree ${name}.`)
      if (await store.load(folder.sessionId)) {
        const message = `The worktree ${name} belongs to the session ${folder.sessionId}. Remove it there (worktree.remove).`
        throw new ParleyError('conflict', message, { details: { session: folder.sessionId } })
      }
      const fate = orphan.branch === '' ? 'keep' : branch
      const left = await worktrees.remove(orphan, { branch: fate, head: orphan.base })
      if (left === 'deleted') await dropRemoteMark(services, orphan.path)
    },
  }
}

const listedAtOnce = 3

const nothing = {
  ...{ branches: [], remotes: [], changes: 0, copy: [], setup: false, submodules: false, files: 0 },
  freeBytes: 0,
}

async function listed(
  worktrees: Worktrees,
  store: SessionStore,
  { name, path, sessionId }: FoundFolder,
): Promise<ListedWorktree> {
  const state = (await store.load(sessionId))?.state
  const planned: PlannedWorktree | undefined = state?.worktree ?? (await worktrees.found(name))
  const { bytes, loss } = (planned && (await worktrees.examine(planned).catch(() => undefined))) ?? {}
  return {
    ...{ name, path },
    ...(bytes !== undefined && { bytes }),
    ...(planned && planned.branch !== '' && { branch: planned.branch }),
    ...(state && {
      session: { id: sessionId, title: state.title, archived: state.archived, updatedAt: state.updatedAt },
      ...(state.worktree && { phase: state.worktree.phase }),
    }),
    ...(loss && { loss }),
  }
}

/**
 * Removes the worktree of a deleted session if this loses nothing. Otherwise the worktree stays, and is listed as an
 * orphan.
 */
export async function removeIfNothingLost(
  services: SessionServices,
  worktrees: Worktrees,
  worktree: PlannedWorktree,
): Promise<void> {
  if (!(await worktrees.isThere(worktree))) return
  const { head, loss } = await worktrees.examine(worktree)
  if (!losesNothing(loss)) return
  const left = await worktrees.remove(worktree, { branch: 'delete', ...(head !== undefined && { head }) })
  if (left === 'deleted') await dropRemoteMark(services, worktree.path)
}
