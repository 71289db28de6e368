import { basename, dirname } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { GitIn } from './git.ts'
import { isInside } from './inside.ts'
import { findRepository } from './repository.ts'

export type Listing = {
  /** True if the folder is in a repository and not in a git directory. */
  readonly isInRepository: boolean
  readonly ignored: ReadonlySet<string>
}

/**
 * Finds the entries of a folder that git ignores. `root` is the session's folder: a repository inside an ignored
 * folder of the session is ignored completely.
 */
export async function listingOf(
  gitIn: GitIn,
  root: string,
  folder: string,
  names: readonly string[],
): Promise<Listing> {
  const repository = isGitPath(folder) ? undefined : await findRepository(folder)
  if (!repository) return { isInRepository: false, ignored: new Set() }
  for (let workTree = repository.workTree; workTree !== root && isInside(root, workTree); ) {
    const above = dirname(workTree)
    if ((await ignoredIn(gitIn, above, [basename(workTree)])).size > 0)
      return { isInRepository: true, ignored: new Set(names) }
    const outer = await findRepository(above)
    if (!outer) break
    workTree = outer.workTree
  }
  return { isInRepository: true, ignored: await ignoredIn(gitIn, folder, names) }
}

/** True for a git directory and for paths inside one. */
export function isGitPath(path: string): boolean {
  return path.split('/').some((name) => name.toLowerCase() === '.git')
}

async function ignoredIn(gitIn: GitIn, folder: string, names: readonly string[]): Promise<Set<string>> {
  const { look } = gitIn({ path: folder, trusted: false })
  // With `./`, a path that starts with a colon is not read as pathspec magic.
  const input = names.map((name) => `./${name}\0`).join('')
  const found = await look(['check-ignore', '-z', '--stdin'], { input })
  // Exit code 1 means that git ignores none of them. Names that git cannot check count as ignored.
  const isKnown = found.code === 0 || found.code === 1
  if (!isKnown) return new Set(names)
  const paths = found.stdout.split('\0').slice(0, -1)
  return new Set(paths.map((path) => path.slice(2)))
}

const reasons = {
  ignored: 'git ignores it',
  'git-directory': 'It is in a git directory',
  'no-repository': 'It is not in a git repository',
}

/** The error for a file that git does not list. */
export function unlisted(why: keyof typeof reasons): ParleyError {
  return new ParleyError(
    'forbidden',
    `${reasons[why]}. Reading such files needs the scope terminal: repeat the request with all=true.`,
    { details: { unlisted: why } },
  )
}
