import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, type LeftOut, maxLeftOut, ParleyError } from '@parley/protocol'
import {
  type Examined,
  examine,
  expectModest,
  isIgnoreFile,
  joined,
  pathsIn,
  statusesIn,
} from './changed-paths.ts'
import { fileVersion } from './git-settings.ts'
import type { ShadowFolder } from './shadow-folder.ts'

/**
 * Stores the tree of a work tree in the shadow. An index that is kept between snapshots contains the state of the
 * files, so git reads only changed files. The first index is a copy of the repository's index.
 */

export type TakenTree = {
  readonly tree: string
  readonly leftOut: readonly LeftOut[]
  /** True if git used the index of the previous snapshot. */
  readonly isWarm: boolean
}

/**
 * The ways to begin an index, the fastest first: the index of the last snapshot, a copy of the repository's index, or
 * an empty one. If git cannot use an index, the next way is tried.
 */
const beginnings = ['kept', 'copied', 'empty'] as const
type Beginning = (typeof beginnings)[number]

export async function takeTree(at: ShadowFolder): Promise<TakenTree> {
  const { place } = at.shadow
  await at.ensure()
  await removeLeftovers(place)
  for (const beginning of beginnings) {
    const index = join(place, `${workPrefix}${randomBytes(6).toString('hex')}`)
    try {
      if (!(await begin(at, index, beginning))) continue
      const taken = await treeFrom(at, index, beginning)
      await rename(index, join(place, 'index'))
      return taken
    } catch (error) {
      if (at.signal?.aborted || beginning === 'empty' || hasCode(error, 'not_supported')) throw error
    } finally {
      await Promise.all([index, `${index}.lock`].map((path) => rm(path, { force: true })))
    }
  }
  throw new Error('An empty index can always be begun.')
}

export const workPrefix = 'work-'

/** Removes the files of an interrupted snapshot. No other operation runs in this shadow folder. */
async function removeLeftovers(place: string): Promise<void> {
  const names = await readdir(place)
  const old = names.filter((name) => name.startsWith(workPrefix))
  await Promise.all(old.map((name) => rm(join(place, name), { force: true })))
}

/** Begins an index in this way. Returns false if that is not possible. */
async function begin(at: ShadowFolder, index: string, beginning: Beginning): Promise<boolean> {
  const { repository, place } = at.shadow
  if (beginning === 'empty') return true
  // Git replaces an index file instead of changing it, so a hard link is as safe as a copy.
  if (beginning === 'kept')
    return link(join(place, 'index'), index).then(
      () => true,
      () => false,
    )
  if (!repository || (await at.convertsAnywhere())) return false
  const own = join(repository.gitDir, 'index')
  const found = await stat(own).catch(() => undefined)
  if (!found?.isFile()) return false
  await copyFile(own, index, constants.COPYFILE_FICLONE)
  // Git reads a file again if the file is not older than the index. Rounding down is safe, because it only makes git
  // read more files.
  await utimes(index, found.atime, Math.floor(found.mtimeMs) / 1000)
  await forgetConverted(at, index)
  return true
}

/** Pathspecs that select the files which git may convert according to their attributes. */
const converted = [
  '.',
  ':(exclude,attr:!text !crlf !eol !ident !filter !working-tree-encoding)',
  ':(exclude,attr:-text !ident !filter !working-tree-encoding)',
]

/** Marks files that git may convert as changed, because the copied index describes their converted form. */
async function forgetConverted(at: ShadowFolder, index: string): Promise<void> {
  const listed = await at.repository.look(['ls-files', '-s', '-z', '--', ...converted], {
    env: { GIT_INDEX_FILE: index },
    patterns: true,
    signal: at.signal,
  })
  if (listed.code !== 0 || listed.cut) throw new Error(`git ls-files: ${listed.stderr}`)
  if (listed.bytes.length > 0)
    await at.git(['update-index', '-z', '--index-info'], { index, input: listed.bytes })
}

async function treeFrom(at: ShadowFolder, index: string, beginning: Beginning): Promise<TakenTree> {
  const { place, repository } = at.shadow
  const version = repository ? await fileVersion(join(repository.gitDir, 'index')) : ''
  const [changed, others] = await Promise.all([
    at.git(['diff-files', '--name-status', '--no-renames', '-z'], { index }),
    at.git(['ls-files', '-z', '--others', ...at.excluding], { index }),
  ])
  const found = await examine(at, { changed: statusesIn(changed), others: pathsIn(others) })
  // Without the repository's index, it is unknown which files the repository tracks, so the limit does not apply.
  if (beginning !== 'empty' || !repository) expectModest(found)
  const isTrackedAnew = beginning === 'kept' && (await readKept(place)) !== version
  if (isTrackedAnew || found.added.some(isIgnoreFile)) await examineIgnored(at, index, found)
  if (found.removed.length > 0)
    await at.git(['update-index', '-z', '--force-remove', '--stdin'], { index, input: joined(found.removed) })
  const unstable = await addFiles(at, index, found.added)
  if (unstable.length > 0) {
    await at.git(['update-index', '-z', '--force-remove', '--stdin'], { index, input: joined(unstable) })
    found.leftOut.push(...unstable.map((path) => ({ path: path.toString(), reason: 'unreadable' as const })))
  }
  const tree = (await at.git(['write-tree'], { index })).toString().trim()
  const leftOut = [...found.leftOut, ...(await submodules(at, index))]
  await writeFile(join(place, 'tracked'), version)
  return { tree, leftOut: leftOut.slice(0, maxLeftOut), isWarm: beginning === 'kept' }
}

/**
 * Adds the files to the index. Returns the files that other programs write while git reads them. If there is such a
 * file, git adds no file and does not name it, so the list is halved until the file is found.
 */
async function addFiles(
  at: ShadowFolder,
  index: string,
  files: readonly Buffer[],
): Promise<readonly Buffer[]> {
  if (files.length === 0) return []
  const added = await at.tryGit(['update-index', '-z', '--add', '--remove', '--stdin'], {
    index,
    input: joined(files),
  })
  if (added.code === 0) return []
  if (!isUnstable(added.stderr)) throw failedToAdd(added.stderr)
  if (files.length === 1) return files
  const middle = Math.ceil(files.length / 2)
  const first = await addFiles(at, index, files.slice(0, middle))
  return [...first, ...(await addFiles(at, index, files.slice(middle)))]
}

function isUnstable(stderr: string): boolean {
  return /unstable object source data|short read/.test(stderr)
}

function failedToAdd(stderr: string): ParleyError {
  return new ParleyError('busy', `git update-index failed: ${stderr || 'too much output'}. Try again.`)
}

/** The version of the repository's index at the last snapshot; empty if there was none. */
const readKept = (place: string) => readFile(join(place, 'tracked'), 'utf8').catch(() => '')

/**
 * A snapshot contains ignored files only if the repository tracks them. Adds files that have become tracked, and
 * removes files that have become ignored.
 */
async function examineIgnored(at: ShadowFolder, index: string, found: Examined): Promise<void> {
  const listing = ['ls-files', '-z', '--cached', '--ignored'] as const
  const [ours, theirs] = await Promise.all([
    at.git([...listing, ...at.excluding], { index }),
    at.repository.look([...listing, '--exclude-standard'], { signal: at.signal }),
  ])
  if (theirs.code !== 0 && at.shadow.repository) throw new Error(`git ls-files: ${theirs.stderr}`)
  const [kept, tracked] = [namesIn(ours), namesIn(theirs.bytes)]
  const gone = [...kept.keys()].filter((name) => !tracked.has(name))
  const left = new Map(found.added.map(named))
  for (const name of gone) left.delete(name)
  for (const [name, path] of tracked) if (!kept.has(name)) left.set(name, path)
  found.added = [...left.values()]
  found.removed.push(...gone.flatMap((name) => kept.get(name) ?? []))
}

const named = (path: Buffer) => [path.toString('latin1'), path] as const
const namesIn = (bytes: Buffer) => new Map(pathsIn(bytes).map(named))

/** The submodules. They are left out, because a tree contains only their commits. */
async function submodules(at: ShadowFolder, index: string): Promise<LeftOut[]> {
  const hasAny = await stat(join(at.shadow.workTree, '.gitmodules')).catch(() => undefined)
  if (!hasAny) return []
  const entries = (await at.git(['ls-files', '-s', '-z'], { index })).toString().split('\0')
  return entries
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => ({ path: entry.slice(entry.indexOf('\t') + 1), reason: 'repository' }))
}
