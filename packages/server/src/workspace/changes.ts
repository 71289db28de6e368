import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Changes, type FileChange, ParleyError } from '@parley/protocol'
import { countLines } from './count-lines.ts'
import type { Git } from './git.ts'

const maxFiles = 2_000
/** The maximum number of bytes of untracked files that are read to count their lines. */
const maxCountedBytes = 32 * 1024 * 1024
const maxPatchBytes = 4 * 1024 * 1024
/** The empty tree of each object format. A repository without commits is compared with it. */
const emptyTrees: Readonly<Record<string, string>> = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
}
const generatedNames =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|go\.sum|Gemfile\.lock|composer\.lock)$|\.min\.(js|css)$|\.map$|(^|\/)(dist|build|vendor)\//

/** The differences from a commit, by default HEAD. Untracked files are included; all of their lines count as added. */
export async function changesOf(git: Git, folder: string, base = 'HEAD'): Promise<Changes> {
  const commit = await commitOf(git, base)
  const against = commit === '' ? await emptyTree(git) : commit
  const [names, numbers, untracked, branch] = await Promise.all([
    git(['diff', '--name-status', '-z', '--find-renames', '--relative', against, '--']),
    git(['diff', '--numstat', '-z', '--find-renames', '--relative', against, '--']),
    git(['ls-files', '-z', '--others', '--exclude-standard']),
    git(['symbolic-ref', '--short', '-q', 'HEAD']),
  ])
  if (names.code !== 0) throw failed(names.stderr)
  const counts = countsIn(numbers.stdout)
  const tracked = statusesIn(names.stdout).map(({ path, from, status }): FileChange => {
    const count = counts.get(path)
    return {
      path,
      ...(from !== undefined && { from }),
      status,
      ...(count && !count.binary && { added: count.added, removed: count.removed }),
      binary: count?.binary ?? false,
      generated: generatedNames.test(path),
    }
  })
  const others = pathsIn(untracked.stdout).map(
    (path): FileChange => ({
      path,
      status: 'untracked',
      binary: false,
      generated: generatedNames.test(path),
    }),
  )
  const files = [...tracked, ...others].toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return {
    base: commit,
    ...(branch.code === 0 && { branch: branch.stdout.trim() }),
    files: await counted(folder, files.slice(0, maxFiles)),
    cut: files.length > maxFiles,
  }
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
  git: Git,
  folder: string,
  path: string,
  base = 'HEAD',
): Promise<{ patch: string; cut: boolean }> {
  if (path.includes('\0'))
    throw new ParleyError('validation_error', 'A path must not contain null characters.')
  const commit = await commitOf(git, base)
  const against = commit === '' ? await emptyTree(git) : commit
  const diff = ['diff', '--find-renames', '--relative'] as const
  const tracked = await git([...diff, against, '--', path], maxPatchBytes)
  if (tracked.stdout !== '' || tracked.cut) return { patch: tracked.stdout, cut: tracked.cut }
  if (!(await isUntracked(git, folder, path))) return { patch: '', cut: false }
  const added = await git([...diff, '--no-index', '--', '/dev/null', path], maxPatchBytes)
  return { patch: added.stdout, cut: added.cut }
}

/**
 * Whether git lists the file as untracked. Only such files are read, so no file outside the folder and none that git
 * ignores is read.
 */
async function isUntracked(git: Git, folder: string, path: string): Promise<boolean> {
  const listed = await git(['ls-files', '-z', '--others', '--exclude-standard', '--', path])
  return (
    pathsIn(listed.stdout).includes(path) &&
    (await stat(join(folder, path)).catch(() => undefined)) !== undefined
  )
}

/** The hash of the commit; empty in a repository without commits. */
export async function commitOf(git: Git, base: string): Promise<string> {
  if (!/^(HEAD|[0-9a-f]{7,64})$/.test(base)) {
    throw new ParleyError('validation_error', 'The base must be HEAD or the hash of a commit.')
  }
  const inside = await git(['rev-parse', '--is-inside-work-tree'])
  if (inside.code !== 0) {
    throw new ParleyError(
      'not_supported',
      'This folder is not a git repository: there is nothing to compare with.',
    )
  }
  const found = await git(['rev-parse', '--verify', '-q', `${base}^{commit}`])
  if (found.code === 0) return found.stdout.trim()
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

function statusesIn(text: string): { path: string; from?: string; status: FileChange['status'] }[] {
  const fields = text.split('\0')
  const found: ReturnType<typeof statusesIn> = []
  for (let index = 0; index + 1 < fields.length; ) {
    const letter = fields[index]?.charAt(0) ?? ''
    const status = statuses[letter] ?? 'modified'
    if (letter === 'R' || letter === 'C') {
      found.push({ path: fields[index + 2] ?? '', from: fields[index + 1] ?? '', status })
      index += 3
    } else {
      found.push({ path: fields[index + 1] ?? '', status })
      index += 2
    }
  }
  return found
}

/**
 * Reads the output of `git diff --numstat -z`. An entry is `added removed path`; for a renamed file the path
 * is empty, and both paths follow.
 */
function countsIn(text: string): Map<string, { added: number; removed: number; binary: boolean }> {
  const counts: ReturnType<typeof countsIn> = new Map()
  const fields = text.split('\0')
  for (let index = 0; index < fields.length; index++) {
    const [added, removed, path] = (fields[index] ?? '').split('\t')
    if (removed === undefined) continue
    const moved = path === ''
    const name = moved ? (fields[index + 2] ?? '') : (path ?? '')
    if (moved) index += 2
    counts.set(name, { added: Number(added) || 0, removed: Number(removed) || 0, binary: added === '-' })
  }
  return counts
}

function failed(stderr: string): ParleyError {
  return new ParleyError('internal_error', `git could not list the changes: ${stderr || 'no reason given'}`)
}

async function emptyTree(git: Git): Promise<string> {
  const { stdout } = await git(['rev-parse', '--show-object-format'])
  return emptyTrees[stdout.trim()] ?? emptyTrees.sha1!
}
