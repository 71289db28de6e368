import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ParleyError, type PlannedWorktree, type SetupRun } from '@parley/protocol'
import type { HowToPrepare, Worktrees } from '../core/worktrees.ts'
import { branchOf } from './folder.ts'
import { createGitIn } from './git.ts'
import { headOf } from './head.ts'
import { type Environment, runProgram } from './run-git.ts'
import { discardFolder, freeBytesOf, makeFolder, removeWorktree, sessionOf } from './worktree-folder.ts'
import { examineWorktree } from './worktree-loss.ts'
import { offerWorktree, planWorktree } from './worktree-plan.ts'
import { ownRepository } from './worktree-repository.ts'

export type WorktreesOptions = {
  readonly env: Environment
  /** The folder in which worktrees are made. */
  readonly root: string
  /** Marks the processes that prepare a worktree, so that all of them can be ended. */
  readonly marks?: {
    readonly variables: (mark: string) => Readonly<Record<string, string>>
    readonly end: (mark: string) => void
  }
  readonly freeBytes?: (folder: string) => Promise<number>
}

const tailBytes = 8_000

export function createWorktreeFolders({
  env,
  root,
  marks,
  freeBytes = freeBytesOf,
}: WorktreesOptions): Worktrees {
  const gitIn = createGitIn(env)
  const endProcesses = (path: string) => marks?.end(path)
  const parts = { gitIn, root, freeBytes, endProcesses }
  return {
    offer: (folder, wanted) => offerWorktree(parts, folder, wanted),
    plan: (folder, asked) => planWorktree(parts, folder, asked),
    make: (worktree, how) => makeFolder(parts, worktree, how),
    prepare(worktree, how) {
      endProcesses(worktree.path)
      return prepare(env, worktree, { ...how, variables: marks?.variables(worktree.path) ?? {} })
    },
    discard: (worktree, how) => discardFolder(parts, worktree, how),
    isThere: ({ path }) => isFolder(path),
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

/** Runs the setup command in a shell. Variables of this server are not passed on. */
async function prepare(
  env: Environment,
  { path, source }: PlannedWorktree,
  { command, timeoutMs, signal, variables }: HowToPrepare & { variables: Readonly<Record<string, string>> },
): Promise<SetupRun> {
  const kept = Object.entries(env).filter(([name]) => !/^(PARLEY_|npm_|GIT_)/.test(name))
  const given = { PARLEY_WORKTREE: path, PARLEY_SOURCE: source, ...variables }
  const start = performance.now()
  let isLate = false
  const ran = await runProgram({
    program: '/bin/sh',
    // stderr is redirected to stdout, so that errors keep their place in the output.
    args: ['-c', 'exec 2>&1; eval "$1"', 'sh', command],
    cwd: path,
    env: { ...Object.fromEntries(kept), ...given },
    tail: tailBytes,
    timeoutMs,
    signal,
    onLate: () => {
      isLate = true
    },
  })
  const tail = ran.stdout.slice(-tailBytes)
  const durationMs = Math.round(performance.now() - start)
  return { command, ...(!isLate && { exitCode: ran.code }), durationMs, tail }
}
