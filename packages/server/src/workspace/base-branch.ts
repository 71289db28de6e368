import { ParleyError } from '@parley/protocol'
import type { Look } from './git.ts'

/** Where the checked-out commits left the base branch of the repository. */
export async function baseOf(look: Look, given?: string): Promise<{ branch: string; commit: string }> {
  const branch = given ?? (await defaultBranch(look))
  if (branch === undefined) throw noBase('This repository has no branch main or master, and names no other.')
  const found = await look(['merge-base', 'HEAD', branch])
  if (found.code === 0) return { branch: shortName(branch), commit: found.stdout.trim() }
  throw noBase(`The checked-out commits have nothing in common with ${shortName(branch)}.`)
}

/** The branch that the remote names as its own, else the first of the usual ones that exists. */
async function defaultBranch(look: Look): Promise<string | undefined> {
  const named = await look(['symbolic-ref', '-q', 'refs/remotes/origin/HEAD'])
  const usual = [
    'refs/remotes/origin/main',
    'refs/remotes/origin/master',
    'refs/heads/main',
    'refs/heads/master',
  ]
  const candidates = [...(named.code === 0 ? [named.stdout.trim()] : []), ...usual]
  const { stdout } = await look(['for-each-ref', '--format=%(refname)', ...candidates])
  const existing = new Set(stdout.split('\n'))
  return candidates.find((name) => existing.has(name))
}

const shortName = (ref: string) => ref.replace(/^refs\/(heads|remotes)\//, '')

function noBase(why: string): ParleyError {
  return new ParleyError('not_supported', `${why} There is nothing to compare with.`)
}
