import { ParleyError } from '@parley/protocol'
import type { GitFolder, Look } from './git.ts'
import { type Entries, linesOf, type TreeEntry, treeEntries } from './restore.ts'

/** Reads and writes the index of a repository. All paths are relative to the top of the work tree, where git runs. */

/** The staged entries of the paths. Throws ParleyError `conflict` if a merge has left one of them unresolved. */
export async function stagedEntries(look: Look, paths: readonly string[]): Promise<Map<string, TreeEntry>> {
  const { code, stdout, stderr } = await look(['ls-files', '-s', '-z', '--', ...paths])
  if (code !== 0) throw new ParleyError('busy', `git could not read the index: ${stderr}. Try again.`)
  const wanted = new Set(paths)
  const entries = new Map<string, TreeEntry>()
  for (const line of stdout.split('\0')) {
    const tab = line.indexOf('\t')
    const path = line.slice(tab + 1)
    if (tab < 0 || !wanted.has(path)) continue
    const [mode = '', object = '', stage] = line.slice(0, tab).split(' ')
    if (stage !== '0') throw unresolved(path)
    entries.set(path, { mode, object })
  }
  return entries
}

/** Changes entries of the index, but no files. */
export async function writeStaged(
  change: GitFolder['change'],
  entries: Entries,
  hashLength: number,
  env: { readonly GIT_INDEX_FILE?: string } = {},
): Promise<void> {
  if (entries.size === 0) return
  const input = linesOf(entries, hashLength)
  const { code, stderr } = await change(['update-index', '-z', '--index-info'], { input, env })
  if (code === 0) return
  const why = /index\.lock/.test(stderr) ? 'Another program is using the index.' : stderr
  throw new ParleyError('busy', `git could not change the index. ${why} Try again.`)
}

/** The entries of the paths in a commit. A path that is not in the commit has no entry. */
export async function entriesOf(
  look: Look,
  commit: string,
  paths: readonly string[],
): Promise<Map<string, TreeEntry>> {
  const { code, stdout, stderr } = await look(['ls-tree', '-r', '-z', '--full-tree', commit, '--', ...paths])
  if (code !== 0) throw new ParleyError('busy', `git could not read ${commit}: ${stderr}. Try again.`)
  return treeEntries(stdout, new Set(paths))
}

/** The paths whose entries differ, each with its entry in `one`. */
export function differing(
  paths: readonly string[],
  one: ReadonlyMap<string, TreeEntry>,
  other: ReadonlyMap<string, TreeEntry>,
): Map<string, TreeEntry | undefined> {
  const isSame = (path: string) => {
    const [a, b] = [one.get(path), other.get(path)]
    return a?.mode === b?.mode && a?.object === b?.object
  }
  return new Map(paths.filter((path) => !isSame(path)).map((path) => [path, one.get(path)]))
}

function unresolved(path: string): ParleyError {
  return new ParleyError('conflict', `A merge has left ${path} unresolved. Resolve it first.`, {
    details: { path },
  })
}
