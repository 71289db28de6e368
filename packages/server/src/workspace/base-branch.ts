import { ParleyError } from '@parley/protocol'
import type { Look } from './git.ts'

/** The merge base of HEAD and the base branch of the repository. */
export async function baseOf(
  look: Look,
  given?: string,
  madeFrom?: string,
): Promise<{ branch: string; commit: string }> {
  const branch = await baseBranch(look, given, madeFrom)
  if (branch === undefined)
    throw noBase('This repository has no branch main or master, and origin names no default branch.')
  const found = await look(['merge-base', 'HEAD', branch])
  if (found.code === 0) return { branch: shortName(branch), commit: found.stdout.trim() }
  throw noBase(`The checked-out commits have nothing in common with ${shortName(branch)}.`)
}

/**
 * The ref of the base branch. If no ref of the given name exists, the default branch of the repository is used. If the
 * repository has no default branch, it is `madeFrom`, the local branch from which the worktree of the session was made.
 */
export async function baseBranch(look: Look, given?: string, madeFrom?: string): Promise<string | undefined> {
  return (
    (given === undefined ? undefined : await namedBranch(look, given)) ??
    (await defaultBranch(look)) ??
    (madeFrom === undefined ? undefined : existing(look, [`refs/heads/${madeFrom}`]))
  )
}

function namedBranch(look: Look, given: string): Promise<string | undefined> {
  const places = ['refs/remotes/origin/', 'refs/heads/', 'refs/remotes/', '']
  return existing(
    look,
    places.map((place) => `${place}${given}`).filter((ref) => ref.startsWith('refs/')),
  )
}

/** The first of the refs that exists in the repository. */
async function existing(look: Look, refs: readonly string[]): Promise<string | undefined> {
  const { stdout } = await look(['for-each-ref', '--format=%(refname)', ...refs])
  const names = new Set(stdout.split('\n'))
  return refs.find((name) => names.has(name))
}

/** The default branch of the remote, otherwise the first existing branch with a usual name. */
async function defaultBranch(look: Look): Promise<string | undefined> {
  const named = await look(['symbolic-ref', '-q', 'refs/remotes/origin/HEAD'])
  const usual = [
    'refs/remotes/origin/main',
    'refs/remotes/origin/master',
    'refs/heads/main',
    'refs/heads/master',
  ]
  const candidates = [...(named.code === 0 ? [named.stdout.trim()] : []), ...usual]
  return existing(look, candidates)
}

export const shortName = (ref: string) => ref.replace(/^refs\/(heads|remotes)\//, '')

function noBase(why: string): ParleyError {
  return new ParleyError('not_supported', `${why} There is nothing to compare with.`)
}
