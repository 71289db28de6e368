import {
  type CommandOf,
  type DraftOf,
  defined,
  type LeftPath,
  type LeftReason,
  leftPaths,
  maxPreviewFiles,
  ParleyError,
  type RewindFile,
  type RewindPreview,
} from '@parley/protocol'
import { folderOf } from './file-restore.ts'
import { type FolderMoments, momentsSince } from './folder-moments.ts'
import { isWithin } from './folder-trust.ts'
import type { ComparedTrees } from './session-folder.ts'
import type { SessionContext } from './session-services.ts'

/** The restoration that a command starts, as restore.started records it. */
export type PlannedRestore = Pick<DraftOf<'restore.started'>, 'before' | 'to' | 'left'>

/** Returns the effect that a rewind to the point after the event `seq` would have on the files. Changes nothing. */
export async function previewRewind(context: SessionContext, seq: number): Promise<RewindPreview> {
  const { moments, compared } = await compare(context, seq, [])
  const { now } = compared
  const files = filesOf(moments, compared)
  const leftOut = [...moments.leftOut, ...now.leftOut]
  return {
    seen: now.tree,
    files: files.slice(0, maxPreviewFiles),
    cut: files.length > maxPreviewFiles,
    leftOut: [...new Map(leftOut.map((one) => [one.path, one])).values()],
    ...(moments.isLate && { late: true }),
    ...(moments.head !== undefined && moments.head !== now.head && { commits: true }),
    ...((await isInUse(context)) && { inUse: true }),
  }
}

/**
 * Plans the restoration of the files to the point after the event `seq`. Rejects with a ParleyError if no restoration
 * is possible.
 */
export async function planRewind(
  context: SessionContext,
  seq: number,
  { paths, seen }: CommandOf<'session.rewind'>,
): Promise<PlannedRestore> {
  if (await isInUse(context)) throw inUse()
  const { folder, moments, compared } = await compare(context, seq, seen === undefined ? [] : [seen])
  const found = filesOf(moments, compared)
  const chosen = paths ? named(paths, found, moments, compared) : found
  const sinceSeen = new Set(seen === undefined ? [] : compared.steps.at(-1))
  const isLeft = ({ path, left }: RewindFile): LeftReason | undefined =>
    (sinceSeen.has(path) ? 'changed-since' : undefined) ?? (paths && isGuess(left) ? undefined : left)
  const left = chosen.flatMap((file): LeftPath[] => {
    const reason = isLeft(file)
    return reason ? [{ path: file.path, reason }] : []
  })
  const { id: sessionId, cwd } = context.log.state
  const { now } = compared
  const planned = await folder.plan(cwd, {
    sessionId,
    now: now.tree,
    tree: moments.trees[0] ?? now.tree,
    paths: chosen.filter((file) => isLeft(file) === undefined).map(({ path }) => path),
  })
  const all = [...left, ...planned.left]
  return { before: now.tree, to: planned.tree, ...defined({ left: leftPaths(all) }) }
}

async function compare(context: SessionContext, seq: number, more: readonly string[]) {
  const { services, log } = context
  const { id: sessionId, cwd } = log.state
  const folder = folderOf(services.sessionFolder)
  const moments = await momentsSince(services.store, log.state, seq)
  const compared = await folder.compare(cwd, { sessionId, trees: [...moments.trees, ...more] })
  return { folder, moments, compared }
}

/**
 * The files that the session changed and that differ from the first tree. Files that others changed too are marked as
 * left alone.
 */
function filesOf(moments: FolderMoments, { steps, files }: ComparedTrees): RewindFile[] {
  const by = { session: new Set<string>(), others: new Set<string>(), unclear: new Set<string>() }
  for (const [index, paths] of steps.entries())
    for (const path of paths) by[moments.steps[index] ?? 'others'].add(path)
  return files.flatMap((file): RewindFile[] => {
    const { path } = file
    if (!by.session.has(path) && !by.unclear.has(path)) return []
    const guess = by.others.has(path) ? 'changed-since' : by.unclear.has(path) ? 'unclear' : undefined
    return [{ ...file, ...defined({ left: file.left ?? guess }) }]
  })
}

/** True for a reason that is only a guess. A command overrules it by naming the path. */
const isGuess = (left: LeftReason | undefined) => left === 'changed-since' || left === 'unclear'

function named(
  paths: readonly string[],
  found: readonly RewindFile[],
  moments: FolderMoments,
  { steps }: ComparedTrees,
): RewindFile[] {
  const changed = new Set(steps.flatMap((step, index) => (moments.steps[index] === 'others' ? [] : step)))
  const unknown = paths.filter((path) => !changed.has(path)).slice(0, 20)
  if (unknown.length > 0)
    throw new ParleyError(
      'validation_error',
      `No turn since that prompt changed ${JSON.stringify(unknown[0])}. See the preview for the paths.`,
      { details: { unknown } },
    )
  const wanted = new Set(paths)
  return found.filter(({ path }) => wanted.has(path))
}

const listed = { limit: 100, pages: 5 }

/** True if another session has an open turn in this folder, in a parent or in a subfolder of it. */
async function isInUse({ services, log }: SessionContext): Promise<boolean> {
  const { id, cwd } = log.state
  let cursor: string | undefined
  for (let page = 0; page < listed.pages; page++) {
    const found = await services.store.list({ limit: listed.limit, ...defined({ cursor }) })
    const isHere = found.sessions.some(
      (other) =>
        other.id !== id &&
        other.status === 'working' &&
        (other.place === undefined || other.place === services.place) &&
        (isWithin(other.cwd, cwd) || isWithin(cwd, other.cwd)),
    )
    if (isHere) return true
    cursor = found.cursor
    if (cursor === undefined) return false
  }
  return false
}

function inUse(): ParleyError {
  const message = 'Another session works in this folder. Wait until its turn ends, then rewind.'
  return new ParleyError('conflict', message, { details: { inUse: true } })
}
