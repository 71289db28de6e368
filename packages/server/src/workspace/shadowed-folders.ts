import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, hasCode, ParleyError } from '@parley/protocol'
import type { SessionFolder, SnapshotOptions } from '../core/session-folder.ts'
import { createGitIn, createShadowGit } from './git.ts'
import { headOf } from './head.ts'
import { inWorkTree } from './in-work-tree.ts'
import type { Entries } from './restore.ts'
import { forgetTrees, keepTree, shadowsWith, shareTrees } from './shadow.ts'
import { openShadow, type ShadowFolder } from './shadow-folder.ts'
import { restoring } from './shadow-restore.ts'
import { type TakenTree, takeTree } from './snapshot.ts'
import { countDifferences, missingTree } from './tree-differences.ts'
import { createTurns } from './turns.ts'

export type SnapshotLimits = {
  /** The time limit of a snapshot. The first snapshot of a folder may take longer. */
  readonly budgetMs: number
  /**
   * The number of consecutive snapshots over the limit after which no more are taken in that folder until a restart.
   */
  readonly misses: number
}

const usualLimits: SnapshotLimits = { budgetMs: 2_000, misses: 3 }

/** Session folders with their snapshots. Each project has a shadow below `root`. */
export type ShadowedFolders = SessionFolder & {
  /** Stores the present tree of the folder without keeping it for a session, and calls `work` with it. */
  now<Result>(folder: string, work: (at: ShadowFolder, tree: TakenTree) => Promise<Result>): Promise<Result>
  /** Takes a snapshot, keeps it for the session, and writes the entries that `work` returns. */
  write(folder: string, options: SnapshotOptions, work: WriteWork): Promise<Written>
  /** Calls `work` with the stored trees of the folder's project. */
  stored<Result>(folder: string, work: (at: ShadowFolder) => Promise<Result>): Promise<Result>
}

/** Returns the entries to write, by path in the work tree. `now` is the present tree of the work tree. */
export type WriteWork = (at: ShadowFolder, now: string) => Promise<Entries>
export type Written = { readonly before: string; readonly after: string }

export type ShadowedFoldersOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly root: string
  readonly limits?: Partial<SnapshotLimits>
}

export function createShadowedFolders(options: ShadowedFoldersOptions): ShadowedFolders {
  const { env, root } = options
  const parts = { gitIn: createGitIn(env), ...createShadowGit(env), root }
  const { inTurn, take, change } = createTaking({ ...usualLimits, ...options.limits })
  let swept: Promise<void> | undefined

  async function open(folder: string, signal?: AbortSignal): Promise<ShadowFolder> {
    swept ??= sweep(root)
    await swept
    return openShadow(parts, folder, signal)
  }

  return {
    async snapshot(folder, { sessionId }) {
      const at = await open(folder)
      const head = headOf(at.repository.look)
      const { tree, leftOut } = await take(at, sessionId)
      return { tree, leftOut, ...defined({ head: await head }) }
    },
    count: async (folder, { from, to, signal }) => countDifferences(await open(folder, signal), from, to),
    async restore(folder, { sessionId, tree, paths, signal }) {
      const at = await open(folder, signal)
      const { restorePaths } = await import('./restore.ts')
      const given = paths?.map((path) => inWorkTree({ folder, workTree: at.shadow.workTree }, path))
      let missing: readonly string[] = []
      const { before, after } = await change(at, sessionId, async (now) => {
        const wanted = given ?? (await differing(at, now, tree))
        const restored = await restorePaths(at, { now, tree, paths: wanted })
        missing = restored.missing
        return restored.tree
      })
      return { before, tree: after, missing }
    },
    ...restoring({ open, take, inTurn }),
    async write(folder, { sessionId, signal }, work) {
      const at = await open(folder, signal)
      const { writeEntries } = await import('./restore.ts')
      return change(at, sessionId, async (now) => writeEntries(at, now, await work(at, now)))
    },
    async share(folder, sessionId, fork) {
      const { shadow } = await open(folder)
      await inTurn(shadow.gitDir, () => shareTrees(shadow, sessionId, fork))
    },
    async forget(folder, sessionId) {
      // The project of a folder that does not exist any more, such as a removed worktree, cannot be found from its path.
      if (!(await stat(folder).catch(() => undefined))) {
        for (const gitDir of await shadowsWith(root, sessionId))
          await inTurn(gitDir, () => forgetTrees({ gitDir }, sessionId))
        return
      }
      // A folder that does not support snapshots has none to forget.
      const at = await open(folder).catch((error: unknown) => {
        if (!hasCode(error, 'not_supported')) throw error
      })
      if (!at) return
      const prune = () => at.git(['prune', '--expire=1.hour.ago'])
      await inTurn(at.shadow.gitDir, () => forgetTrees(at.shadow, sessionId, prune))
    },
    async now(folder, work) {
      const at = await open(folder)
      return work(at, await take(at))
    },
    stored: async (folder, work) => work(await open(folder)),
  }
}

/** A tree that is about to be taken, and the sessions for which it will be kept. */
type Waiting = { readonly sessions: Set<string>; readonly taken: Promise<TakenTree> }

/** Takes trees of folders. In each project, operations run one after another. */
function createTaking(limits: SnapshotLimits) {
  const inTurn = createTurns()
  const waiting = new Map<string, Waiting>()
  const misses = new Map<string, number>()

  /**
   * Takes the tree after the earlier operations in the project, and keeps it for the session. Callers that wait for
   * the same folder share the tree. The tree is kept in the same operation that takes it, because the deletion of
   * another session may remove the shadow in the next operation.
   */
  function take(at: ShadowFolder, sessionId?: string): Promise<TakenTree> {
    const { place, gitDir } = at.shadow
    const shared = waiting.get(place)
    const sessions = shared?.sessions ?? new Set()
    if (sessionId !== undefined) sessions.add(sessionId)
    if (shared) return shared.taken
    const taken = inTurn(gitDir, async () => {
      waiting.delete(place)
      const result = await timed(at)
      for (const session of sessions) await keepTree(at.shadow, session, result.tree)
      return result
    })
    waiting.set(place, { sessions, taken })
    return taken
  }

  async function timed(at: ShadowFolder): Promise<TakenTree> {
    const { place, workTree } = at.shadow
    if ((misses.get(place) ?? 0) >= limits.misses) throw off(workTree, limits)
    const start = performance.now()
    const taken = await takeTree(at)
    const isMissed = taken.isWarm && performance.now() - start > limits.budgetMs
    misses.set(place, isMissed ? (misses.get(place) ?? 0) + 1 : 0)
    return taken
  }

  /** Runs an operation that changes the work tree, and keeps the trees before and after it for a session. */
  const change = (at: ShadowFolder, sessionId: string, work: (now: string) => Promise<string>) =>
    inTurn(at.shadow.gitDir, async () => {
      const { tree: before } = await takeTree(at)
      await keepTree(at.shadow, sessionId, before)
      const after = await work(before)
      await keepTree(at.shadow, sessionId, after)
      return { before, after }
    })

  return { inTurn, take, change }
}

async function differing(at: ShadowFolder, from: string, to: string): Promise<string[]> {
  const listed = await at.tryGit(['diff-tree', '-r', '--name-only', '--no-renames', '-z', from, to])
  if (listed.code !== 0) throw missingTree(listed.stderr)
  if (listed.cut)
    throw new ParleyError('not_supported', 'Too many files have changed to be restored at once.')
  return listed.bytes
    .toString()
    .split('\0')
    .filter((path) => path !== '')
}

function off(workTree: string, { budgetMs, misses }: SnapshotLimits): ParleyError {
  const message = `No snapshots are taken of ${workTree} any more: ${misses} of them took longer than ${budgetMs / 1000} seconds. Restart the server to try again.`
  return new ParleyError('not_supported', message, { details: { off: true } })
}

/** Removes the remains of interrupted creations and removals of shadows. */
async function sweep(root: string): Promise<void> {
  const names = await readdir(root).catch(() => [])
  const left = names.filter((name) => name.includes('.'))
  await Promise.all(left.map((name) => rm(join(root, name), { recursive: true, force: true })))
}
