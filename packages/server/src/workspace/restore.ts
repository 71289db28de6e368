import { randomBytes } from 'node:crypto'
import { link, lstat, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { ShadowFolder } from './shadow-folder.ts'
import { workPrefix } from './snapshot.ts'

/**
 * Makes paths of the work tree what they are in `tree`, and leaves the others alone. `now` is a snapshot that was just
 * taken. Git compares each file with that snapshot before it writes: if one differs, nothing is changed.
 *
 * If this is killed, some of the paths are restored. Repeating it restores the others.
 */
export async function restorePaths(
  at: ShadowFolder,
  { now, tree, paths }: { readonly now: string; readonly tree: string; readonly paths: readonly string[] },
): Promise<{ readonly tree: string; readonly missing: readonly string[] }> {
  const { place } = at.shadow
  const index = join(place, `${workPrefix}${randomBytes(6).toString('hex')}`)
  const planned = `${index}-planned`
  try {
    // Git replaces an index and never changes it, so a link is as good as a copy.
    await Promise.all([index, planned].map((made) => link(join(place, 'index'), made)))
    const { lines, missing, written } = await plan(at, tree, new Set(paths))
    await expectNothingInTheWay(at, index, written)
    await at.git(['update-index', '-z', '--index-info'], { index: planned, input: lines })
    const target = (await at.git(['write-tree'], { index: planned })).toString().trim()
    if (target === now) return { tree: now, missing }
    const read = await at.tryGit(['read-tree', '-m', '-u', now, target], { index })
    if (read.code !== 0) throw inTheWay(read.stderr)
    await rename(index, join(place, 'index'))
    return { tree: target, missing }
  } finally {
    const made = [index, planned].flatMap((path) => [path, `${path}.lock`])
    await Promise.all(made.map((path) => rm(path, { force: true })))
  }
}

/** The entries of the paths in the tree, as `update-index --index-info` reads them, with the removals first. */
async function plan(at: ShadowFolder, tree: string, paths: ReadonlySet<string>) {
  const listed = (await at.git(['ls-tree', '-r', '-z', '--full-tree', tree])).toString().split('\0')
  const entries = new Map<string, string>()
  for (const line of listed) {
    const path = line.slice(line.indexOf('\t') + 1)
    if (paths.has(path)) entries.set(path, line)
  }
  const stored = await storedAmong(at, [...entries.values()].map(objectOf))
  const missing = [...entries].flatMap(([path, line]) =>
    isSubmodule(line) || !stored.has(objectOf(line)) ? [path] : [],
  )
  const left = new Set(missing)
  const removed = [...paths].filter((path) => !entries.has(path))
  const zeros = '0'.repeat(tree.length)
  const lines = [
    ...removed.map((path) => `0 ${zeros}\t${path}`),
    ...[...entries].flatMap(([path, line]) =>
      left.has(path) ? [] : [`${line.slice(0, 6)} ${objectOf(line)}\t${path}`],
    ),
  ]
  return {
    lines: Buffer.from(lines.map((line) => `${line}\0`).join('')),
    missing,
    written: [...entries.keys()].filter((path) => !left.has(path)),
  }
}

const pathsAtOnce = 500

/** Throws if a file that no snapshot has, such as an ignored one, would be overwritten. Git overwrites ignored files. */
async function expectNothingInTheWay(
  at: ShadowFolder,
  index: string,
  written: readonly string[],
): Promise<void> {
  const files = new Set(written)
  const places = new Set(written.flatMap(withFolders))
  const found: string[] = []
  for (const path of places) {
    const there = await lstat(join(at.shadow.workTree, path)).catch(() => undefined)
    if (there && !(there.isDirectory() && !files.has(path))) found.push(path)
  }
  for (let start = 0; start < found.length; start += pathsAtOnce) {
    const some = found.slice(start, start + pathsAtOnce)
    const others = (await at.git(['ls-files', '-z', '--others', '--', ...some], { index })).toString()
    if (others !== '') throw inTheWay(others.split('\0').slice(0, 5).join(' '))
  }
}

/** The path with the folders that it is in. */
function withFolders(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** A line of `ls-tree`: `mode type object<tab>path`. */
const objectOf = (line: string) => line.slice(0, line.indexOf('\t')).split(' ')[2] ?? ''
const isSubmodule = (line: string) => line.startsWith('160000 ')

/** Those of the objects that exist. Objects of the repository may have been removed by its garbage collection. */
async function storedAmong(at: ShadowFolder, objects: readonly string[]): Promise<ReadonlySet<string>> {
  const input = Buffer.from(objects.map((object) => `${object}\n`).join(''))
  const answers = (await at.git(['cat-file', '--batch-check'], { input })).toString().split('\n')
  return new Set(answers.flatMap((line) => (line.endsWith(' missing') ? [] : [line.split(' ')[0] ?? ''])))
}

function inTheWay(reason: string): ParleyError {
  const message =
    'A file has changed meanwhile, or is in the way, so nothing was restored. Look at the changes, then try again.'
  return new ParleyError('conflict', message, { details: { reason } })
}
