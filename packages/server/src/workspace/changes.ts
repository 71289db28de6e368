import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type ChangeSide, type Changes, type FileChange, ParleyError } from '@parley/protocol'
import { countLines } from './count-lines.ts'
import type { Look } from './git.ts'
import { hashFiles } from './hash-files.ts'
import { isInside } from './inside.ts'
import { prefixOf, relativeTo, type ShadowFolder } from './shadow-folder.ts'
import { checkedTree, missingTree } from './tree-differences.ts'

const maxFiles = 2_000
/** The maximum number of bytes of untracked files that are read to count their lines. */
const maxCountedBytes = 32 * 1024 * 1024
/** The maximum number of bytes of changed files that are read to compute their hashes. */
const maxHashedBytes = 64 * 1024 * 1024
const maxPatchBytes = 4 * 1024 * 1024
/** The empty tree of each object format. A repository without commits is compared with it. */
const emptyTrees: Readonly<Record<string, string>> = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
}
const generatedNames =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|go\.sum|Gemfile\.lock|composer\.lock)$|\.min\.(js|css)$|\.map$|(^|\/)(dist|build|vendor)\//

/**
 * The differences from a commit, by default HEAD. Untracked files are included, and all of their lines count as
 * added. With `named`, each file has the hash of its content, for which the file is read.
 */
export async function changesOf(
  look: Look,
  folder: string,
  base = 'HEAD',
  { named = false, side }: { readonly named?: boolean; readonly side?: ChangeSide } = {},
): Promise<Changes> {
  const commit = await commitOf(look, base)
  const against = commit === '' ? await emptyTree(look) : commit
  const marks = base === 'HEAD' && named && side === undefined
  const [differing, untracked, branch, staging] = await Promise.all([
    look(['diff', ...listing, ...sideOf(side, against), '--']),
    side === 'staged' ? undefined : look(['ls-files', '-z', '--others', '--exclude-standard']),
    look(['symbolic-ref', '--short', '-q', 'HEAD']),
    marks ? stagingOf(look, against) : undefined,
  ])
  if (differing.code !== 0) throw failed(differing.stderr)
  const others = pathsIn(untracked?.stdout ?? '').map(
    (path): FileChange => ({
      path,
      status: 'untracked',
      binary: false,
      generated: generatedNames.test(path),
    }),
  )
  const found = filesIn(differing.stdout)
  // Git reports hashes of staged contents, but not of contents in the folder.
  const tracked = side === 'staged' ? found : found.map(({ blob: _, ...file }) => file)
  const files = inOrder([...tracked, ...others]).map((file) => ({ ...file, ...staging?.(file.path) }))
  const listed = await counted(folder, files.slice(0, maxFiles))
  return {
    base: commit,
    ...(branch.code === 0 && { branch: branch.stdout.trim() }),
    files: named && side !== 'staged' ? await withBlobs(folder, listed, against.length) : listed,
    cut: files.length > maxFiles,
  }
}

const sideOf = (side: ChangeSide | undefined, against: string) =>
  side === 'staged' ? ['--cached', against] : side === 'unstaged' ? [] : [against]

/** Returns a function that reports whether the change of a path is staged, completely or in part. */
async function stagingOf(look: Look, against: string) {
  const names = ['diff', '--name-only', '-z', '--no-renames', '--relative'] as const
  const staged = pathsIn((await look([...names, '--cached', against])).stdout)
  // Git looks at every file of the folder unless it is given paths, and usually nothing is staged.
  const inFolder = staged.length > 0 ? await look([...names, ...asPaths(staged)]) : undefined
  const [all, changedSince] = [new Set(staged), new Set(pathsIn(inFolder?.stdout ?? ''))]
  return (path: string): Pick<FileChange, 'staged'> => {
    if (!all.has(path)) return {}
    return { staged: changedSince.has(path) ? 'part' : 'all' }
  }
}

const maxNamedPaths = 200

/** Arguments that restrict a command to the paths; none if there are too many, or if a name is not valid Unicode. */
function asPaths(paths: readonly string[]): readonly string[] {
  const canBeNamed = paths.length <= maxNamedPaths && !paths.some((path) => path.includes('\uFFFD'))
  return canBeNamed ? ['--', ...paths] : []
}

/** The differences between two stored trees. */
export async function treeChanges(at: ShadowFolder, from: string, to: string): Promise<Changes> {
  const options = [...rawListing, relativeTo(at)]
  const differing = await at.tryGit(['diff-tree', '-r', ...options, ...[from, to].map(checkedTree)])
  if (differing.code !== 0) throw missingTree(differing.stderr)
  const files = inOrder(filesIn(differing.stdout))
  return { base: from, files: files.slice(0, maxFiles), cut: files.length > maxFiles }
}

/** The files that differ between two commits or trees of the repository. */
export async function changesBetween(
  look: Look,
  from: string,
  to: string,
): Promise<Pick<Changes, 'files' | 'cut'>> {
  const differing = await look(['diff-tree', '-r', ...listing, from, to])
  if (differing.code !== 0) throw failed(differing.stderr)
  const files = inOrder(filesIn(differing.stdout)).map(({ blob: _, ...file }) => file)
  return { files: files.slice(0, maxFiles), cut: files.length > maxFiles }
}

/** The options that list files with their states and line counts. */
const rawListing = ['--raw', '--no-abbrev', '--numstat', '-z', '--find-renames'] as const
const listing = [...rawListing, '--relative'] as const

const inOrder = (files: readonly FileChange[]) => files.toSorted((a, b) => (a.path < b.path ? -1 : 1))

function filesIn(text: string): (FileChange & { readonly blob: string })[] {
  const { statuses, counts } = readListing(text)
  return statuses.map(({ path, from, status, blob }) => {
    const count = counts.get(path)
    return {
      path,
      ...(from !== undefined && { from }),
      status,
      ...(count && !count.binary && { added: count.added, removed: count.removed }),
      binary: count?.binary ?? false,
      generated: generatedNames.test(path),
      blob,
    } satisfies FileChange
  })
}

/**
 * Adds the hash of the present content of each file. Hashes that git reports are not used: git hashes the content as
 * it would be committed, which filters may have changed, and reports none for files that it has not read.
 */
async function withBlobs(
  folder: string,
  files: readonly FileChange[],
  length: number,
): Promise<FileChange[]> {
  const present = files.filter(({ status }) => status !== 'deleted').map(({ path }) => path)
  const algorithm = length === 64 ? 'sha256' : 'sha1'
  const blobs = await hashFiles(folder, present, { algorithm, maxBytes: maxHashedBytes })
  return files.map((file) => {
    const blob = file.status === 'deleted' ? '0'.repeat(length) : blobs.get(file.path)
    return blob === undefined ? file : { ...file, blob }
  })
}

async function counted(folder: string, files: readonly FileChange[]): Promise<FileChange[]> {
  const untracked = files.filter(({ status }) => status === 'untracked').map(({ path }) => path)
  const counts = await countLines(folder, untracked, maxCountedBytes)
  return files.map((file) => {
    const count = file.status === 'untracked' ? counts.get(file.path) : undefined
    if (!count) return file
    return count.binary ? { ...file, binary: true } : { ...file, added: count.lines, removed: 0 }
  })
}

/** The patch of one file, as git writes it. Empty if the file does not differ. */
export async function patchOf(
  look: Look,
  folder: string,
  path: string,
  base = 'HEAD',
  side?: ChangeSide,
): Promise<{ patch: string; cut: boolean }> {
  if (path.includes('\0'))
    throw new ParleyError('validation_error', 'A path must not contain null characters.')
  const commit = await commitOf(look, base)
  const against = commit === '' ? await emptyTree(look) : commit
  const diff = ['diff', '--find-renames', '--relative'] as const
  const tracked = await look([...diff, ...sideOf(side, against), '--', path], { limit: maxPatchBytes })
  if (tracked.stdout !== '' || tracked.cut) return { patch: tracked.stdout, cut: tracked.cut }
  if (side === 'staged' || !(await isUntracked(look, folder, path))) return { patch: '', cut: false }
  const added = await look([...diff, '--no-index', '--', '/dev/null', path], {
    limit: maxPatchBytes,
  })
  return { patch: added.stdout, cut: added.cut }
}

/** The patch of one file between two trees. Without `to`, between a tree and the folder at its last snapshot. */
export async function treePatch(
  at: ShadowFolder,
  path: string,
  { from, to }: { from: string; to?: string | undefined },
): Promise<{ patch: string; cut: boolean }> {
  if (path.includes('\0'))
    throw new ParleyError('validation_error', 'A path must not contain null characters.')
  const limit = maxPatchBytes
  const options = ['--find-renames', relativeTo(at), checkedTree(from)]
  const named = `${prefixOf(at)}${path}`
  const found =
    to === undefined
      ? await at.tryGit(['diff', ...options, '--', named], { limit, index: join(at.shadow.place, 'index') })
      : await at.tryGit(['diff-tree', '-r', '-p', ...options, checkedTree(to), '--', named], { limit })
  if (found.code !== 0 && !found.cut) throw missingTree(found.stderr)
  return { patch: found.stdout, cut: found.cut }
}

/**
 * True if git lists the file as untracked and the file is inside the folder. The folder is checked too, because git
 * also lists untracked files of the repository outside the folder.
 */
async function isUntracked(look: Look, folder: string, path: string): Promise<boolean> {
  if (!isInside(folder, resolve(folder, path))) return false
  const listed = await look(['ls-files', '-z', '--others', '--exclude-standard', '--', path])
  return (
    pathsIn(listed.stdout).includes(path) &&
    (await stat(join(folder, path)).catch(() => undefined)) !== undefined
  )
}

/** The hash of the commit; empty in a repository without commits. */
export async function commitOf(look: Look, base: string): Promise<string> {
  if (!/^(HEAD|[0-9a-f]{7,64})$/.test(base)) {
    throw new ParleyError('validation_error', 'The base must be HEAD or the hash of a commit.')
  }
  const found = await look(['rev-parse', '--verify', '-q', `${base}^{commit}`])
  if (found.code === 0) return found.stdout.trim()
  if (found.code > 1) {
    throw new ParleyError(
      'not_supported',
      'This folder is not a git repository: there is nothing to compare with.',
    )
  }
  if (base === 'HEAD') return ''
  throw new ParleyError('not_found', `There is no commit ${base} here.`)
}

function pathsIn(text: string): string[] {
  return text.split('\0').filter((path) => path !== '')
}

const statuses: Readonly<Record<string, FileChange['status']>> = {
  A: 'added',
  M: 'modified',
  T: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'added',
  U: 'conflicted',
}

type Listing = {
  readonly statuses: { path: string; from?: string; status: FileChange['status']; blob: string }[]
  readonly counts: Map<string, { added: number; removed: number; binary: boolean }>
}

/**
 * Reads the output of `git diff --raw --numstat -z`. First come the states, each with one path, or two for a moved file;
 * then the numbers, `added removed path`. There, the path of a moved file is empty, and both paths follow.
 */
function readListing(text: string): Listing {
  const fields = text.split('\0')
  const found: Listing = { statuses: [], counts: new Map() }
  let at = 0
  const next = () => fields[at++] ?? ''
  while (at + 1 < fields.length) {
    const field = next()
    if (field.startsWith(':')) {
      const [, , , blob = '', states = ''] = field.split(' ')
      const letter = states.charAt(0)
      const status = statuses[letter] ?? 'modified'
      const from = letter === 'R' || letter === 'C' ? next() : undefined
      found.statuses.push({ path: next(), ...(from !== undefined && { from }), status, blob })
    } else {
      const [added, removed, ...rest] = field.split('\t')
      const path = rest.join('\t')
      if (path === '') next()
      found.counts.set(path === '' ? next() : path, {
        added: Number(added) || 0,
        removed: Number(removed) || 0,
        binary: added === '-',
      })
    }
  }
  return found
}

function failed(stderr: string): ParleyError {
  return new ParleyError('internal_error', `git could not list the changes: ${stderr || 'no reason given'}`)
}

async function emptyTree(look: Look): Promise<string> {
  const { stdout } = await look(['rev-parse', '--show-object-format'])
  return emptyTrees[stdout.trim()] ?? emptyTrees.sha1!
}
