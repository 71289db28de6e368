import { lstat } from 'node:fs/promises'
import type { LeftReason } from '@parley/protocol'
import type { ShadowFolder } from './shadow-folder.ts'
import type { Difference, EntryText } from './tree-differences.ts'
import { temporaryIndex } from './tree-with.ts'

/**
 * The paths that cannot be moved from the tree `now` to another one, with the reason. `due` are the wanted moves; they
 * begin at `now`.
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
 * Files that are at, above or below the paths and not in the index, such as ignored files. Git overwrites ignored
 * files.
 */
export function untrackedAt(at: ShadowFolder, index: string, paths: readonly string[]): Promise<string[]> {
  const list = (some: readonly string[]) => at.git(['ls-files', '-z', '--others', '--', ...some], { index })
  return othersAt(at.shadow.workTree, paths, list)
}

/** As `untrackedAt`. `list` lists the files at some paths that are not in the index, including ignored ones. */
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

/** The paths of the tree that stay. Only paths that can block a created path are returned. */
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

/** The paths to be written that one of the other files blocks: the file is at the path, above it or below it. */
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

/** The folders that the path is in. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** Those of the objects that exist. Objects of the repository may have been removed by its garbage collection. */
export async function storedAmong(
  at: ShadowFolder,
  objects: readonly string[],
): Promise<ReadonlySet<string>> {
  if (objects.length === 0) return new Set()
  const input = Buffer.from(objects.map((object) => `${object}\n`).join(''))
  const answers = (await at.git(['cat-file', '--batch-check'], { input })).toString().split('\n')
  return new Set(answers.flatMap((line) => (line.endsWith(' missing') ? [] : [line.split(' ')[0] ?? ''])))
}

/** A path whose characters are bytes. */
const bytesOf = (path: string) => Buffer.from(path, 'latin1')
export const asBytes = (path: string) => Buffer.from(path).toString('latin1')
/** The path as text. A name that is not valid text has replacement characters. */
export const shownPath = (path: string) => bytesOf(path).toString()
