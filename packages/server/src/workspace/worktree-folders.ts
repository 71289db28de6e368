import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { Worktrees } from '../core/worktrees.ts'
import { branchOf } from './folder.ts'
import { createGitIn } from './git.ts'
import { headOf } from './head.ts'
import { createReservedBranches } from './reserved-branches.ts'
import { type ProcessMarks, runCommand } from './run-command.ts'
import type { Environment } from './run-git.ts'
import { emptySubmodules } from './submodules.ts'
import { discardFolder, freeBytesOf, makeFolder, removeWorktree, sessionOf } from './worktree-folder.ts'
import { examineWorktree } from './worktree-loss.ts'
import { offerWorktree, planWorktree } from './worktree-plan.ts'
import { ownRepository } from './worktree-repository.ts'

export type WorktreesOptions = {
  readonly env: Environment
  /** The folder in which worktrees are made. */
  readonly root: string
  /** Marks the processes that prepare a worktree, so that all of them can be ended. */
  readonly marks?: ProcessMarks
  readonly freeBytes?: (folder: string) => Promise<number>
}

export function createWorktreeFolders({
  env,
  root,
  marks,
  freeBytes = freeBytesOf,
}: WorktreesOptions): Worktrees {
  const gitIn = createGitIn(env)
  const endProcesses = (path: string) => marks?.end(path)
  const parts = { gitIn, root, freeBytes, endProcesses, reserved: createReservedBranches() }
  return {
    offer: (folder, wanted) => offerWorktree(parts, folder, wanted),
    plan: (folder, asked) => planWorktree(parts, folder, asked),
    make: (worktree, how) => makeFolder(parts, worktree, how),
    prepare(worktree, how) {
      endProcesses(worktree.path)
      const { path, source } = worktree
      return runCommand(env, path, { ...how, source, variables: marks?.variables(path) ?? {} })
    },
    discard: (worktree, how) => discardFolder(parts, worktree, how),
    isThere: ({ path }) => isFolder(path),
    emptySubmodules: async ({ path }) =>
      (await emptySubmodules(gitIn({ path, trusted: false }).look, path)).length,
    async examine(worktree) {
      if (await isFolder(worktree.path)) return examineWorktree(gitIn, env, worktree)
      throw new ParleyError('not_found', `The folder ${worktree.path} is gone.`)
    },
    remove: (worktree, how) => removeWorktree(parts, worktree, how),
    async list() {
      const names = await readdir(root).catch(() => [])
      return names.toSorted().flatMap((name) => {
        const sessionId = sessionOf(name)
        return sessionId === undefined ? [] : [{ name, path: join(root, name), sessionId }]
      })
    },
    async found(name) {
      const path = join(root, name)
      if (dirname(path) !== root || sessionOf(name) === undefined || !(await isFolder(path))) return undefined
      const repository = await ownRepository(path).catch(() => undefined)
      const source = repository && dirname(repository.commonDir)
      const base = (await headOf(gitIn({ path, trusted: false }).look)) ?? ''
      const main = source === undefined ? undefined : await ownRepository(source).catch(() => undefined)
      const isWhole = repository?.workTree === path && main?.commonDir === repository.commonDir
      return {
        path,
        base,
        source: (isWhole && source) || path,
        branch: (isWhole && (await branchOf(path))) || '',
      }
    },
  }
}

const isFolder = (path: string) =>
  lstat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
