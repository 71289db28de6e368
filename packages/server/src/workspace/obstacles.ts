import { lstat } from 'node:fs/promises'
import type { LeftReason } from '@parley/protocol'
import type { ShadowFolder } from './shadow-folder.ts'
import type { Difference, EntryText } from './tree-differences.ts'
import { temporaryIndex } from './tree-with.ts'

/**
 * Finds the paths that cannot be moved from the tree `now` to another tree, with the reason for each. `due` are the
 * wanted moves, which start from `now`.
 */
export async function obstaclesAmong(
  at: ShadowFolder,
  now: string,
  due: readonly Difference[],
): Promise<Map<string, LeftReason>> {
  const found = new Map<string, LeftReason>()
  const stored = await storedAmong(
    at,
    due.flatMap(({ to }) => (to === undefined ? [] : [objectOf(to)])),
  )
  for (const { path, from, to } of due) {
    if (isRepository(from) || isRepository(to)) found.set(path, 'repository')
    else if (to !== undefined && !stored.has(objectOf(to))) found.set(path, 'not-stored')
  }
  const written = due.filter(({ path, to }) => to !== undefined && !found.has(path))
  if (written.length === 0) return found
  await using index = await temporaryIndex(at, now)
  const paths = written.map(({ path }) => path)
  const others = await untrackedAt(at, index.file, paths)
  const inTheWay = [...others, ...(await keptAmong(at, now, due, found))]
  for (const path of blockedBy(inTheWay, written)) found.set(path, 'in-the-way')
  return found
}

export const objectOf = (entry: string) => entry.slice(entry.indexOf(' ') + 1)
const isRepository = (entry: EntryText) => entry?.startsWith('160000 ') ?? false

const pathsAtOnce = 500

/**
 * Finds files that are not in the index and block one of the paths: a file at the path, at a parent folder of it, or
 * below it. Git would overwrite them if they are ignored.
 */
export function untrackedAt(at: ShadowFolder, index: string, paths: readonly string[]): Promise<string[]> {
  const list = (some: readonly string[]) => at.git(['ls-files', '-z', '--others', '--', ...some], { index })
  return othersAt(at.shadow.workTree, paths, list)
}

/**
 * Like `untrackedAt`, for any index. `list` returns the files at some paths that are not in the index, including
 * ignored files.
 */
export async function othersAt(
  workTree: string,
  paths: readonly string[],
  list: (some: readonly string[]) => Promise<Buffer>,
): Promise<string[]> {
  const files = new Set(paths)
  const places = new Set(paths.flatMap((path) => [path, ...foldersOf(path)]))
  const top = Buffer.from(`${workTree}/`)
  const found: string[] = []
  for (const path of places) {
    const there = await lstat(Buffer.concat([top, bytesOf(path)])).catch(() => undefined)
    if (there && !(there.isDirectory() && !files.has(path))) found.push(path)
  }
  const others: string[] = []
  for (let start = 0; start < found.length; start += pathsAtOnce) {
    const some = found.slice(start, start + pathsAtOnce).map((path) => bytesOf(path).toString())
    const listed = await list(some)
    others.push(...listed.toString('latin1').split('\0').slice(0, -1))
  }
  return others.map((path) => path.replace(/\/$/, ''))
}

/**
 * The paths of the tree `now` that the moves do not remove. They are computed only if a move creates a path, because
 * only a new path can be blocked.
 */
async function keptAmong(
  at: ShadowFolder,
  now: string,
  due: readonly Difference[],
  left: ReadonlyMap<string, unknown>,
): Promise<string[]> {
  const created = due.filter(
    ({ path, from, to }) => from === undefined && to !== undefined && !left.has(path),
  )
  if (created.length === 0) return []
  const removed = new Set(due.flatMap(({ path, to }) => (to === undefined && !left.has(path) ? [path] : [])))
  const listed = (await at.git(['ls-tree', '-r', '-z', '--name-only', '--full-tree', now])).toString('latin1')
  return listed.split('\0').filter((path) => path !== '' && !removed.has(path))
}

/** The written paths that another file blocks: the file is at the path, at a parent folder of it, or below it. */
function blockedBy(others: readonly string[], written: readonly Difference[]): string[] {
  if (others.length === 0) return []
  const files = new Set(others)
  const folders = new Set(others.flatMap(foldersOf))
  const isBlocked = ({ path, from }: Difference) =>
    foldersOf(path).some((folder) => files.has(folder)) ||
    folders.has(path) ||
    (from === undefined && files.has(path))
  return written.filter(isBlocked).map(({ path }) => path)
}

function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** The objects that exist. Garbage collection of the repository may have removed some of them. */
export async function storedAmong(
  at: ShadowFolder,
  objects: readonly string[],
): Promise<ReadonlySet<string>> {
  if (objects.length === 0) return new Set()
  const input = Buffer.from(objects.map((object) => `${object}\n`).join(''))
  const answers = (await at.git(['cat-file', '--batch-check'], { input })).toString().split('\n')
  return new Set(answers.flatMap((line) => (line.endsWith(' missing') ? [] : [line.split(' ')[0] ?? ''])))
}

/** The bytes of a path whose characters each stand for one byte. */
const bytesOf = (path: string) => Buffer.from(path, 'latin1')
export const asBytes = (path: string) => Buffer.from(path).toString('latin1')
/** The path for people. Invalid UTF-8 is shown as replacement characters. */
export const shownPath = (path: string) => bytesOf(path).toString()
