import { lstat, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyError, type SeenChange, type SeenFile } from '@parley/protocol'
import type { Asked } from '../core/folder-changes.ts'
import { patchOf } from './changes.ts'
import { conversionsOf, needsTrust } from './converted.ts'
import { type FolderGit, folderGit } from './folder-git.ts'
import type { GitIn } from './git.ts'
import { blobOf } from './hash-files.ts'
import { headOf } from './head.ts'
import { expectHunks } from './hunks.ts'
import { openFile } from './inside.ts'
import { withHunks, withoutHunks } from './lines.ts'
import { type Entries, submodule, type TreeEntry } from './restore.ts'
import {
  changedMeanwhile,
  isNothing,
  isRegular,
  type NamedFile,
  namedFiles,
  notAFile,
  pathsOf,
} from './seen-files.ts'
import { entriesOf, stagedEntries, writeStaged } from './staged.ts'

/** Stages or unstages files, or some of their hunks. The files in the folder are not changed. */
export async function stage(
  gitIn: GitIn,
  folder: string,
  { command, trusts }: Asked<'changes.stage'> | Asked<'changes.unstage'>,
): Promise<void> {
  const git = await folderGit(gitIn, folder, trusts)
  const named = namedFiles(git, command.files)
  const staged = await stagedEntries(git.look, pathsOf(named))
  const entries =
    command.type === 'changes.stage'
      ? await entriesToStage(git, named, staged)
      : await entriesToUnstage(git, named, staged)
  await writeStaged(git.change, entries, command.files[0]?.blob.length ?? 40)
}

/**
 * Returns the index entries that stage the files as they are in the folder. Rejects if a file differs from what the
 * caller has seen.
 */
export async function entriesToStage(
  git: FolderGit,
  named: readonly NamedFile<SeenFile | SeenChange>[],
  staged: ReadonlyMap<string, TreeEntry>,
): Promise<Entries> {
  const paths = named.map(({ path }) => path)
  const conversions = await conversionsOf(git.look, paths)
  const entries = new Map<string, TreeEntry | undefined>()
  for (const one of named) {
    const { file, path, from } = one
    const filter = conversions.get(path)?.get('filter')
    if (filter !== undefined && !git.trusted && !isNothing(file.blob)) throw needsTrust(file.path, filter)
    const entry = await entryInFolder(git, one, staged.get(path))
    if (from !== undefined) {
      if (await stats(git, from)) throw changedMeanwhile(from, undefined)
      entries.set(from, undefined)
    }
    const hunks = 'hunks' in file ? file.hunks : undefined
    entries.set(path, hunks ? await withSome(git, one, hunks, staged.get(path), entry) : entry)
  }
  return entries
}

const stats = ({ workTree }: FolderGit, path: string) => lstat(join(workTree, path)).catch(() => undefined)

/** The maximum size of a file that is staged. */
const maxBytes = 100 * 1024 * 1024

/**
 * The index entry of a file as it is in the folder. Undefined if the file was deleted and the caller has seen this.
 */
async function entryInFolder(
  git: FolderGit,
  { file, path }: Pick<NamedFile<SeenFile>, 'file' | 'path'>,
  staged: TreeEntry | undefined,
): Promise<TreeEntry | undefined> {
  if (staged?.mode === submodule) throw notAFile(file.path)
  const found = await stats(git, path)
  if (!found) {
    if (isNothing(file.blob)) return undefined
    throw changedMeanwhile(file.path, undefined)
  }
  if (found.isDirectory()) throw notAFile(file.path)
  if (found.isSymbolicLink()) {
    const target = await readlink(join(git.workTree, path), 'buffer')
    expectBlob(file, target)
    return { mode: '120000', object: await stored(git, target) }
  }
  const { bytes, isExecutable } = await readWhole(git, path, file.path)
  expectBlob(file, bytes)
  const mode = (await git.tracksModes()) ? (isExecutable ? '100755' : '100644') : staged?.mode
  return { mode: mode?.startsWith('100') ? mode : '100644', object: await stored(git, bytes, path) }
}

async function readWhole({ workTree }: FolderGit, path: string, shown: string) {
  await using opened = await openFile([workTree], join(workTree, path))
  const { size, mode } = opened.stats
  if (size > maxBytes) throw new ParleyError('too_large', `${shown} is over 100 MB. Stage it in a terminal.`)
  return { bytes: await opened.handle.readFile(), isExecutable: (mode & 0o100) !== 0 }
}

function expectBlob({ path, blob }: SeenFile, bytes: Buffer): void {
  const now = blobOf(bytes, blob.length === 64 ? 'sha256' : 'sha1')
  if (now !== blob) throw changedMeanwhile(path, now)
}

/**
 * Stores a content in the repository and returns its hash. With a path, git converts the content as it converts that
 * file.
 */
async function stored({ change }: FolderGit, input: Buffer, path?: string): Promise<string> {
  const how = path === undefined ? '--no-filters' : `--path=${path}`
  const { code, stdout, stderr } = await change(['hash-object', '-w', '--stdin', how], { input })
  if (code === 0) return stdout.trim()
  throw new ParleyError('busy', `git could not store a file: ${stderr}. Try again.`)
}

async function contentOf({ look }: FolderGit, entry: TreeEntry | undefined): Promise<Buffer> {
  if (!entry) return Buffer.alloc(0)
  const { code, bytes, cut } = await look(['cat-file', 'blob', entry.object])
  if (code === 0 && !cut) return bytes
  throw new ParleyError('busy', 'git could not read a staged file. Try again.')
}

type Hunks = NonNullable<SeenChange['hunks']>

/** The staged entry of a file, with these hunks of the folder added. */
async function withSome(
  git: FolderGit,
  { file }: NamedFile<SeenFile>,
  hunks: Hunks,
  staged: TreeEntry | undefined,
  entry: TreeEntry | undefined,
): Promise<TreeEntry | undefined> {
  await expectParts(git, file, hunks, 'unstaged', [staged, entry])
  const [old, fresh] = await Promise.all([contentOf(git, staged), contentOf(git, entry)])
  const left = withHunks({ old, fresh }, hunks)
  const mode = staged?.mode ?? entry?.mode
  if (mode === undefined || (!entry && left.length === 0)) return undefined
  return { mode, object: await stored(git, left) }
}

async function entriesToUnstage(
  git: FolderGit,
  named: readonly NamedFile[],
  staged: ReadonlyMap<string, TreeEntry>,
): Promise<Entries> {
  const head = await headOf(git.look)
  const before = head === undefined ? new Map() : await entriesOf(git.look, head, pathsOf(named))
  const entries = new Map<string, TreeEntry | undefined>()
  for (const { file, path, from } of named) {
    const [entry, old] = [staged.get(path), before.get(path)]
    const isSeen = entry ? entry.object === file.blob : isNothing(file.blob)
    if (!isSeen || (from !== undefined && staged.has(from))) throw changedMeanwhile(file.path, entry?.object)
    if (from !== undefined) entries.set(from, before.get(from))
    entries.set(path, file.hunks ? await withoutSome(git, file, entry, old) : old)
  }
  return entries
}

/** The staged entry of a file, with these hunks reverted. */
async function withoutSome(
  git: FolderGit,
  file: SeenChange,
  entry: TreeEntry | undefined,
  before: TreeEntry | undefined,
): Promise<TreeEntry | undefined> {
  const hunks = file.hunks ?? []
  await expectParts(git, file, hunks, 'staged', [before, entry])
  const [old, fresh] = await Promise.all([contentOf(git, before), contentOf(git, entry)])
  const left = withoutHunks({ old, fresh }, hunks)
  const mode = entry?.mode ?? before?.mode
  if (mode === undefined || (!before && left.length === 0)) return undefined
  return { mode, object: await stored(git, left) }
}

async function expectParts(
  { seen, folder }: FolderGit,
  { path, from }: SeenFile,
  hunks: Hunks,
  side: 'staged' | 'unstaged',
  entries: readonly (TreeEntry | undefined)[],
): Promise<void> {
  if (from !== undefined || !entries.every(isRegular))
    throw new ParleyError('validation_error', `${path} cannot be staged in part. Choose its whole change.`)
  const { patch, cut } = await patchOf(seen, folder, path, 'HEAD', side)
  expectHunks(hunks, patch, cut)
}
