import { type Discarded, defined, ParleyError } from '@parley/protocol'
import type { Asked, Undone } from '../core/folder-changes.ts'
import { patchOf, treePatch } from './changes.ts'
import { asInFolder, conversionsOf, needsTrust, storedIn } from './converted.ts'
import { type DiscardRecord, discardRecords } from './discard-record.ts'
import type { GitFolder, GitIn, Look } from './git.ts'
import { headOf } from './head.ts'
import { expectHunks } from './hunks.ts'
import { inWorkTree } from './in-work-tree.ts'
import { withoutHunks } from './lines.ts'
import { type Entries, entriesIn, type TreeEntry } from './restore.ts'
import { changedMeanwhile, expectSeen, isRegular, type NamedFile, namedFiles, pathsOf } from './seen-files.ts'
import { isKept } from './shadow.ts'
import type { ShadowFolder } from './shadow-folder.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'
import { differing, stagedEntries, writeStaged } from './staged.ts'

export type ChangeParts = { readonly gitIn: GitIn; readonly folders: ShadowedFolders }

/** The work tree that a command changes, with git in the forms that the command needs. */
type Work = {
  readonly at: ShadowFolder
  /** Runs git at the top of the work tree. */
  readonly top: GitFolder & { readonly trusted: boolean }
  /** Reads patches of the folder in the form that people see. */
  readonly look: Look
}

/**
 * Returns files, or some of their hunks, to their state in the base. A snapshot is taken first. Files that are
 * completely discarded to HEAD are also unstaged.
 */
export async function discard(
  { gitIn, folders }: ChangeParts,
  folder: string,
  { sessionId, command, trusts, signal }: Asked<'changes.discard'>,
): Promise<Discarded> {
  let base = ''
  let earlier: DiscardRecord | undefined
  const unstaging = createUnstaging()
  const written = folders.write(folder, { sessionId, signal }, async (at, now) => {
    const records = discardRecords(at, sessionId, command.commandId)
    earlier = await records.done(now)
    if (earlier) return new Map()
    const work = workOn(gitIn, at, trusts)
    const named = namedFiles(placeOf(at), command.files)
    const present = await expectSeen(at, now, named)
    const found = await baseOf(work, sessionId, command.base)
    base = found.id
    const entries = await discardedEntries(work, { ...found, named, present, now })
    const whole = named.filter(({ file }) => file.hunks === undefined)
    if (found.isHead) await unstaging.unstage(work, found.id, pathsOf(whole))
    await records.write(base, now, unstaging.staged, entries)
    return entries
  })
  const { before, after } = await written.catch(async (error) => {
    await unstaging.undo()
    throw error
  })
  const files = command.files.map(({ path, from, hunks }) => ({
    path,
    ...defined({ from, hunks: hunks?.length }),
  }))
  const done = earlier ?? { base, before, staged: unstaging.staged }
  return { files, after, base: done.base, before: done.before, ...defined({ staged: done.staged }) }
}

/**
 * Returns the files to their state before a discard. Throws ParleyError `conflict` if one of them has changed since
 * the discard.
 */
export async function restoreDiscarded(
  { gitIn, folders }: ChangeParts,
  folder: string,
  { sessionId, discarded, trusts, signal }: Omit<Asked<'changes.restore'>, 'command'> & Undone,
): Promise<void> {
  const { files, before, after, staged = [] } = discarded
  await folders.write(folder, { sessionId, signal }, async (at, now) => {
    const paths = files.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]))
    const wanted = paths.map((path) => inWorkTree(placeOf(at), path))
    const [present, old, left] = await Promise.all(
      [now, before, after].map((tree) => entriesIn(at, tree, new Set(wanted))),
    )
    const entries = differing(wanted, old!, present!)
    // An earlier attempt has already restored the paths that have their old content.
    const changed = [...differing(wanted, present!, left!).keys()].find((path) => entries.has(path))
    if (changed !== undefined) throw changedMeanwhile(changed, present!.get(changed)?.object)
    if (staged.length > 0) await stageAgain(workOn(gitIn, at, trusts), staged)
    return entries
  })
}

/** Stages the changes that a discard has unstaged, except for paths in which something was staged since. */
async function stageAgain({ at, top }: Work, staged: NonNullable<Discarded['staged']>): Promise<void> {
  const paths = staged.map(({ path }) => path)
  const head = await headOf(top.look)
  const [now, base] = await Promise.all([stagedEntries(top.look, paths), entriesAt(at, head, paths)])
  const others = differing(paths, now, base)
  const left = staged.filter(({ path }) => !others.has(path))
  const entries = left.map(({ path, mode, blob }) => [path, entryOf(mode, blob)] as const)
  await writeStaged(top.change, new Map(entries), staged[0]?.blob.length ?? 40)
}

const nothing = { mode: '0', blob: (like: string) => '0'.repeat(like.length) }
const entryOf = (mode: string, object: string) => (mode === nothing.mode ? undefined : { mode, object })

const placeOf = ({ folder, shadow: { workTree } }: ShadowFolder) => ({ folder, workTree })

function workOn(gitIn: GitIn, at: ShadowFolder, trusts: (folder: string) => boolean): Work {
  const { workTree } = at.shadow
  const trusted = trusts(workTree)
  return {
    at,
    top: { ...gitIn({ path: workTree, trusted }), trusted },
    look: gitIn({ path: at.folder, trusted: trusts(at.folder) }).look,
  }
}

type Base = {
  /** The hash of a commit or a tree; empty if there is no commit. */
  readonly id: string
  readonly isCommit: boolean
  readonly isHead: boolean
}

/** Finds the base of the discard: a commit of the repository, or a snapshot of this session. */
async function baseOf({ at, top }: Work, sessionId: string, given: string): Promise<Base> {
  const head = at.shadow.repository ? await headOf(top.look) : undefined
  if (given === '' || given === 'HEAD') {
    if (at.shadow.repository) return { id: head ?? '', isCommit: true, isHead: true }
    throw new ParleyError('not_supported', 'This folder is not a git repository: there is no commit.')
  }
  const { stdout } = await at.tryGit(['cat-file', '-t', given])
  const type = stdout.trim()
  if (type === 'commit') return { id: given, isCommit: true, isHead: given === head }
  if (type === 'tree' && (await isKept(at.shadow, sessionId, given)))
    return { id: given, isCommit: false, isHead: false }
  throw new ParleyError('not_found', `There is no commit or snapshot ${given} of this session.`)
}

async function entriesAt(
  at: ShadowFolder,
  id: string | undefined,
  paths: readonly string[],
): Promise<Map<string, TreeEntry>> {
  return id ? entriesIn(at, id, new Set(paths)) : new Map()
}

type Discarding = Base & {
  readonly named: readonly NamedFile[]
  readonly present: ReadonlyMap<string, TreeEntry>
  readonly now: string
}

async function discardedEntries(work: Work, discarding: Discarding): Promise<Entries> {
  const { at, top } = work
  const { named, id, isCommit } = discarding
  const stored = await entriesAt(at, id, pathsOf(named))
  const old = isCommit && stored.size > 0 ? await asInFolder(at, top, stored) : stored
  const entries = new Map<string, TreeEntry | undefined>()
  for (const one of named) {
    const { file, path } = one
    if (file.hunks) entries.set(path, await withoutSome(work, discarding, one, old.get(path)))
    else for (const each of pathsOf([one])) entries.set(each, old.get(each))
  }
  return entries
}

/** The entry of a file without these hunks. Undefined if the file is new and nothing of it is left. */
async function withoutSome(
  work: Work,
  { present, id, isCommit, now }: Discarding,
  { file, path }: NamedFile,
  old: TreeEntry | undefined,
): Promise<TreeEntry | undefined> {
  const { at, look, top } = work
  const fresh = present.get(path)
  if (file.from !== undefined || !isRegular(old) || !isRegular(fresh))
    throw new ParleyError(
      'validation_error',
      `${file.path} cannot be discarded in part. Discard its whole change.`,
    )
  const attributes = isCommit ? (await conversionsOf(top.look, [path])).get(path) : undefined
  const encoded = attributes?.get('filter') ?? attributes?.get('working-tree-encoding')
  if (encoded !== undefined) throw needsTrust(file.path, encoded)
  const { patch, cut } = isCommit
    ? await patchOf(look, at.folder, file.path, id === '' ? 'HEAD' : id)
    : await treePatch(at, file.path, { from: id, to: now })
  expectHunks(file.hunks ?? [], patch, cut)
  const [before, after] = await Promise.all([contentOf(at, old), contentOf(at, fresh)])
  const left = withoutHunks({ old: before, fresh: after }, file.hunks ?? [])
  const mode = fresh?.mode ?? old?.mode
  if (mode === undefined || (!old && left.length === 0)) return undefined
  return { mode, object: await storedIn(at, left) }
}

const contentOf = async (at: ShadowFolder, entry: TreeEntry | undefined) =>
  entry ? at.git(['cat-file', 'blob', entry.object]) : Buffer.alloc(0)

/** Unstages files, and can undo this if a later step fails. */
function createUnstaging() {
  let undo = async () => {}
  let staged: Discarded['staged']
  return {
    get staged() {
      return staged
    },
    undo: () => undo().catch(() => undefined),
    async unstage({ at, top }: Work, head: string, paths: readonly string[]): Promise<void> {
      if (paths.length === 0) return
      const [now, base] = await Promise.all([stagedEntries(top.look, paths), entriesAt(at, head, paths)])
      const before = differing(paths, now, base)
      if (before.size === 0) return
      const like = [...now.values(), ...base.values()][0]?.object ?? ''
      await writeStaged(top.change, differing(paths, base, now), like.length)
      undo = () => writeStaged(top.change, before, like.length)
      staged = [...before].map(([path, entry]) => ({
        path,
        mode: entry?.mode ?? nothing.mode,
        blob: entry?.object ?? nothing.blob(like),
      }))
    },
  }
}
