import { type LeftPath, type LeftReason, ParleyError, type RewindFile } from '@parley/protocol'
import { objectOf, obstaclesAmong, shownPath } from './obstacles.ts'
import { checkOut } from './restore.ts'
import { prefixOf, type ShadowFolder } from './shadow-folder.ts'
import { takeTree } from './snapshot.ts'
import { type Difference, differencesOf } from './tree-differences.ts'
import { treeWith } from './tree-with.ts'

/**
 * Restores files. The plan of a restoration is a tree: the present tree of the folder with other contents at some
 * paths. A restoration moves the folder from its present tree to the plan. Git compares each file before it writes
 * the file.
 */

/** The paths in the folder that differ between each tree and the next one. */
export async function stepsBetween(
  at: ShadowFolder,
  trees: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const steps: string[][] = []
  for (const [index, tree] of trees.slice(1).entries())
    steps.push((await inFolder(at, trees[index] ?? '', tree)).map(({ shown }) => shown))
  return steps
}

/** The changes that would restore the folder from the tree `now` to `tree`. */
export async function actionsTo(at: ShadowFolder, now: string, tree: string): Promise<RewindFile[]> {
  const found = await inFolder(at, now, tree)
  const obstacles = await obstaclesAmong(at, now, found)
  const files = found.map(({ path, shown, from, to }): RewindFile => {
    const left = obstacles.get(path)
    const action = to === undefined ? 'delete' : from === undefined ? 'create' : 'change'
    return { path: shown, action, ...(left && { left }) }
  })
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * Returns the tree `now` with the contents of another tree at these paths. Paths that cannot be restored keep their
 * contents.
 */
export async function planRestore(
  at: ShadowFolder,
  { now, tree, paths }: { readonly now: string; readonly tree: string; readonly paths: readonly string[] },
): Promise<{ readonly tree: string; readonly left: readonly LeftPath[] }> {
  const wanted = new Set(paths)
  const found = (await inFolder(at, now, tree)).filter(({ shown }) => wanted.has(shown))
  const obstacles = await obstaclesAmong(at, now, found)
  const due = found.filter(({ path }) => !obstacles.has(path))
  const planned = await treeWith(at, now, due.map(toEntry))
  return { tree: planned, left: named(at, obstacles) }
}

/** The differences inside the folder, each with its path relative to the folder. */
async function inFolder(at: ShadowFolder, from: string, to: string) {
  const prefix = prefixInBytes(at)
  const found = await differencesOf(at, from, to)
  return found
    .filter(({ path }) => path.startsWith(prefix))
    .map((one) => ({ ...one, shown: shownPath(one.path.slice(prefix.length)) }))
}

/** The path of the folder in the work tree. Each of its characters is one byte. */
const prefixInBytes = (at: ShadowFolder) => Buffer.from(prefixOf(at)).toString('latin1')

const toEntry = ({ path, to }: Difference) => ({ path, entry: to })
const fromEntry = ({ path, from }: Difference) => ({ path, entry: from })

function named(at: ShadowFolder, reasons: ReadonlyMap<string, LeftReason>): LeftPath[] {
  const { length } = prefixInBytes(at)
  return [...reasons].map(([path, reason]) => ({ path: shownPath(path.slice(length)), reason }))
}

export type Moved = {
  /** The tree `after`, with the moved paths in their previous state. */
  readonly before: string
  readonly after: string
  readonly count: number
  readonly left: readonly LeftPath[]
}

export type Move = {
  readonly from: string
  readonly to: string
  /** True if an earlier attempt may have begun the move, so that a file may be incomplete or missing. */
  readonly again?: boolean | undefined
}

const attempts = 3

/**
 * Moves the paths in which the trees differ from the first to the second tree. A path whose content is in neither
 * tree is left alone. If a kill interrupts this, a repetition moves the remaining paths. Rejects with `conflict` if
 * no path could be moved.
 */
export async function moveFiles(at: ShadowFolder, move: Move): Promise<Moved> {
  const wanted = await differencesOf(at, move.from, move.to)
  for (let attempt = 1; ; attempt++) {
    const { tree: now } = await takeTree(at)
    const isAgain = move.again === true || attempt > 1
    const { due, left } = await sort(at, wanted, { ...move, now, isAgain })
    if (due.length === 0) return result(at, now, wanted, left)
    const target = await treeWith(at, now, due.map(toEntry))
    const written = await checkOut(at, now, target)
    if (written.code === 0) return result(at, target, wanted, left)
    if (attempt === attempts) return rest(at, wanted, { ...move, left, problem: written.stderr })
  }
}

type Sorted = { readonly due: readonly Difference[]; readonly left: Map<string, LeftReason> }

/**
 * Divides the wanted paths into those that are still to be moved and those that are left alone. The others are
 * already moved.
 */
async function sort(
  at: ShadowFolder,
  wanted: readonly Difference[],
  { from, now, isAgain }: { readonly from: string; readonly now: string; readonly isAgain: boolean },
): Promise<Sorted> {
  const since = new Map((await differencesOf(at, from, now)).map((one) => [one.path, one.to] as const))
  const left = new Map<string, LeftReason>()
  const due: Difference[] = []
  for (const one of wanted) {
    const present = since.has(one.path) ? since.get(one.path) : one.from
    if (present === one.to) continue
    const isDue = present === one.from || (isAgain && (await isPart(at, present, one.to)))
    if (isDue) due.push({ ...one, from: present })
    else left.set(one.path, 'changed-since')
  }
  const obstacles = await obstaclesAmong(at, now, due)
  for (const [path, reason] of obstacles) left.set(path, reason)
  return { due: due.filter(({ path }) => !obstacles.has(path)), left }
}

/**
 * True if the file can be the result of an interrupted write: git removes a file, then writes it from its beginning,
 * so the file is missing or contains the beginning.
 */
async function isPart(
  at: ShadowFolder,
  present: string | undefined,
  to: string | undefined,
): Promise<boolean> {
  if (to === undefined) return false
  if (present === undefined) return true
  if (!present.startsWith('100') || !to.startsWith('100')) return false
  const part = await at.git(['cat-file', 'blob', objectOf(present)])
  const whole = await at.git(['cat-file', 'blob', objectOf(to)])
  return whole.subarray(0, part.length).equals(part)
}

/** The result after the last attempt has failed. Files that git wrote before the failure count as restored. */
async function rest(
  at: ShadowFolder,
  wanted: readonly Difference[],
  { from, left, problem }: Move & { readonly left: Map<string, LeftReason>; readonly problem: string },
): Promise<Moved> {
  const { tree: now } = await takeTree(at)
  const { due } = await sort(at, wanted, { from, now, isAgain: true })
  for (const { path } of due) left.set(path, 'failed')
  if (left.size === wanted.length) throw notWritten(problem)
  return result(at, now, wanted, left)
}

async function result(
  at: ShadowFolder,
  after: string,
  wanted: readonly Difference[],
  left: ReadonlyMap<string, LeftReason>,
): Promise<Moved> {
  const moved = wanted.filter(({ path }) => !left.has(path))
  const before = await treeWith(at, after, moved.map(fromEntry))
  return { before, after, count: moved.length, left: named(at, left) }
}

function notWritten(reason: string): ParleyError {
  const message =
    'The files could not be written, so nothing was restored. Look at the changes, then try again.'
  return new ParleyError('conflict', message, { details: { reason } })
}
