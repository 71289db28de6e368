import { lstat, readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { Look } from './git.ts'
import { findRepository, readPointer } from './repository.ts'

/** Finds the work trees of a repository in which a branch is checked out. */

type Head = {
  /** The git directory of the work tree. */
  readonly gitDir: string
  readonly isMain: boolean
}

/**
 * The path of the work tree in which a branch is checked out; undefined if there is none. Rejects if the work tree is
 * not certain, because files of the repository can name any folder.
 */
export async function checkoutOf(look: Look, commonDir: string, branch: string): Promise<string | undefined> {
  const heads = await headsWith(commonDir, branch)
  const places = await Promise.all(
    heads.map(async (head) => {
      const place = head.isMain ? await mainPlace(look, commonDir) : await linkedPlace(commonDir, head.gitDir)
      return place === 'none' ? [] : [place]
    }),
  )
  const found = places.flat()
  if (found.length > 1) throw notCertain(branch, 'is checked out in several work trees')
  const [place] = found
  if (place === undefined) return undefined
  if (place === 'unknown') throw notCertain(branch, 'is checked out in a work tree that was not found')
  return place
}

async function headsWith(commonDir: string, branch: string): Promise<Head[]> {
  const root = join(commonDir, 'worktrees')
  const names = await readdir(root).catch(() => [])
  const all = [
    { gitDir: commonDir, isMain: true },
    ...names.map((name) => ({ gitDir: join(root, name), isMain: false })),
  ]
  const found = await Promise.all(
    all.map(async (head) => {
      if ((await readPointer(join(head.gitDir, 'HEAD'))) === `ref: refs/heads/${branch}`) return [head]
      if (await isInUse(head.gitDir, branch)) throw notCertain(branch, 'is being rebased or bisected')
      return []
    }),
  )
  return found.flat()
}

/** True if an unfinished rebase or bisection returns to the branch. */
async function isInUse(gitDir: string, branch: string): Promise<boolean> {
  const names = await Promise.all(
    ['rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'].map((file) =>
      readPointer(join(gitDir, file)),
    ),
  )
  return names.includes(`refs/heads/${branch}`) || names[2] === branch
}

type PlaceOf = string | 'none' | 'unknown'

async function mainPlace(look: Look, commonDir: string): Promise<PlaceOf> {
  if (await isBare(look, commonDir)) return 'none'
  const workTree = dirname(commonDir)
  const own = join(workTree, '.git')
  const found = basename(commonDir) === '.git' ? await lstat(own).catch(() => undefined) : undefined
  return found?.isDirectory() && (await realpath(own)) === commonDir ? workTree : 'unknown'
}

/** Reads `core.bare` from the configuration files of the repository. Reading them runs no program. */
async function isBare(look: Look, commonDir: string): Promise<boolean> {
  const files = ['config', 'config.worktree'].map((name) => join(commonDir, name))
  const found = await Promise.all(
    files.map((file) =>
      look(['config', '--file', file, '--no-includes', '--type=bool', '--get', 'core.bare']),
    ),
  )
  return found.some(({ code, stdout }) => code === 0 && stdout.trim() === 'true')
}

/** The path of a linked work tree. `unknown` unless the work tree and the repository name each other. */
async function linkedPlace(commonDir: string, gitDir: string): Promise<PlaceOf> {
  const back = await readPointer(join(gitDir, 'gitdir'))
  if (back === undefined || basename(back) !== '.git') return 'unknown'
  const workTree = await realpath(dirname(resolve(gitDir, back))).catch(() => undefined)
  // The folder of a work tree may have been deleted by hand. A locked work tree may be on a disk that is not mounted
  // now.
  if (workTree === undefined)
    return (await lstat(join(gitDir, 'locked')).catch(() => undefined)) ? 'unknown' : 'none'
  const repository = await findRepository(workTree)
  if (repository?.workTree !== workTree) return 'unknown'
  const [own, common] = await Promise.all([realpath(repository.gitDir), realpath(repository.commonDir)])
  return own === (await realpath(gitDir)) && common === commonDir ? workTree : 'unknown'
}

function notCertain(branch: string, what: string): ParleyError {
  const message = `${branch} ${what}, so Parley cannot merge into that branch. Merge in a terminal.`
  return new ParleyError('not_supported', message, { details: { branch } })
}
