import { randomBytes } from 'node:crypto'
import { link, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { asBytes, shownPath, storedAmong, untrackedAt } from './obstacles.ts'
import type { GitResult } from './run-git.ts'
import type { ShadowFolder } from './shadow-folder.ts'
import { workPrefix } from './snapshot.ts'
import { missingTree } from './tree-differences.ts'

/**
 * Returns paths of the work tree to their state in `tree`; other paths are not changed. `now` is a snapshot that was
 * just taken.
 */
export async function restorePaths(
  at: ShadowFolder,
  { now, tree, paths }: { readonly now: string; readonly tree: string; readonly paths: readonly string[] },
): Promise<{ readonly tree: string; readonly missing: readonly string[] }> {
  const { entries, missing } = await plan(at, tree, paths)
  return { tree: await writeEntries(at, now, entries), missing }
}

export type TreeEntry = { readonly mode: string; readonly object: string }
/** New entries by path; undefined removes the path. */
export type Entries = ReadonlyMap<string, TreeEntry | undefined>

/**
 * Writes the entries into the work tree, and returns the resulting tree. `now` is a snapshot that was just taken. Git
 * compares each file with this snapshot first: if a file differs, nothing is changed. If a kill interrupts the write,
 * a repetition writes the remaining paths.
 */
export async function writeEntries(at: ShadowFolder, now: string, entries: Entries): Promise<string> {
  const { place } = at.shadow
  const index = join(place, `${workPrefix}${randomBytes(6).toString('hex')}`)
  const planned = `${index}-planned`
  try {
    // Git replaces an index file instead of changing it, so a hard link is as safe as a copy.
    await Promise.all([index, planned].map((made) => link(join(place, 'index'), made)))
    const written = [...entries].flatMap(([path, entry]) => (entry ? [path] : []))
    await expectNothingInTheWay(at, index, written)
    await at.git(['update-index', '-z', '--index-info'], {
      index: planned,
      input: linesOf(entries, now.length),
    })
    const target = (await at.git(['write-tree'], { index: planned })).toString().trim()
    if (target === now) return now
    const done = await checkOut(at, now, target)
    if (done.code !== 0) throw inTheWay(done.stderr)
    return target
  } finally {
    const made = [index, planned].flatMap((path) => [path, `${path}.lock`])
    await Promise.all(made.map((path) => rm(path, { force: true })))
  }
}

/** Makes git move the work tree from the tree `now`, a snapshot that was just taken, to another tree. */
export async function checkOut(at: ShadowFolder, now: string, target: string): Promise<GitResult> {
  const kept = join(at.shadow.place, 'index')
  const index = join(at.shadow.place, `${workPrefix}${randomBytes(6).toString('hex')}`)
  try {
    await link(kept, index)
    const done = await at.tryGit(['read-tree', '-m', '-u', now, target], { index })
    if (done.code === 0) await rename(index, kept)
    return done
  } finally {
    await Promise.all([index, `${index}.lock`].map((path) => rm(path, { force: true })))
  }
}

/** Formats the entries for `update-index --index-info`, removals first. */
export function linesOf(entries: Entries, hashLength: number): Buffer {
  const removed = [...entries].filter(([, entry]) => !entry)
  const kept = [...entries].filter(([, entry]) => entry)
  const lines = [...removed, ...kept].map(([path, entry]) =>
    entry ? `${entry.mode} ${entry.object}\t${path}\0` : `0 ${'0'.repeat(hashLength)}\t${path}\0`,
  )
  return Buffer.from(lines.join(''))
}

/** The entries of the paths in the tree. Paths whose objects no longer exist are returned as missing. */
async function plan(at: ShadowFolder, tree: string, paths: readonly string[]) {
  const found = await entriesIn(at, tree, new Set(paths))
  const stored = await storedAmong(
    at,
    [...found.values()].map(({ object }) => object),
  )
  const isMissing = ({ mode, object }: TreeEntry) => mode === submodule || !stored.has(object)
  const missing = [...found].flatMap(([path, entry]) => (isMissing(entry) ? [path] : []))
  const left = new Set(missing)
  const entries = new Map(paths.filter((path) => !left.has(path)).map((path) => [path, found.get(path)]))
  return { entries, missing }
}

export const submodule = '160000'

/** The entries of the paths in a tree. A path that is not in the tree has no entry. */
export async function entriesIn(
  at: ShadowFolder,
  tree: string,
  paths: ReadonlySet<string>,
): Promise<Map<string, TreeEntry>> {
  const found = await at.tryGit(['ls-tree', '-r', '-z', '--full-tree', tree])
  if (found.code !== 0) throw missingTree(found.stderr)
  if (found.cut) throw new ParleyError('busy', 'The snapshot has too many files. Try again.')
  return treeEntries(found.bytes.toString(), paths)
}

/** The entries of these paths in the output of `ls-tree -z`. */
export function treeEntries(listed: string, paths: ReadonlySet<string>): Map<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>()
  for (const line of listed.split('\0')) {
    const tab = line.indexOf('\t')
    const path = line.slice(tab + 1)
    if (!paths.has(path)) continue
    const [mode = '', , object = ''] = line.slice(0, tab).split(' ')
    entries.set(path, { mode, object })
  }
  return entries
}

/**
 * Throws if a file would be overwritten that is in no snapshot, such as an ignored file. Git would overwrite ignored
 * files.
 */
async function expectNothingInTheWay(
  at: ShadowFolder,
  index: string,
  written: readonly string[],
): Promise<void> {
  const others = await untrackedAt(at, index, written.map(asBytes))
  if (others.length > 0) throw inTheWay(others.slice(0, 5).map(shownPath).join(' '))
}

function inTheWay(reason: string): ParleyError {
  const message =
    'A file has changed meanwhile, or is in the way, so nothing was restored. Look at the changes, then try again.'
  return new ParleyError('conflict', message, { details: { reason } })
}
