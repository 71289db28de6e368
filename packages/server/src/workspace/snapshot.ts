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
 * Stores the tree of a work tree in the shadow. Git knows the state of the files from an index that is kept between
 * snapshots, so only files that have changed are read. The first index is a copy of the repository's.
 */

export type TakenTree = {
  readonly tree: string
  readonly leftOut: readonly LeftOut[]
  /** True if git used the index of the previous snapshot. */
  readonly isWarm: boolean
}

/** How an index is begun, the fastest way first. If git cannot use an index, the next way is tried. */
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

/** Removes what a kill has left behind. Nothing else works in this place. */
async function removeLeftovers(place: string): Promise<void> {
  const names = await readdir(place)
  const old = names.filter((name) => name.startsWith(workPrefix))
  await Promise.all(old.map((name) => rm(join(place, name), { force: true })))
}

/** Returns false if an index cannot be begun in this way. */
async function begin(at: ShadowFolder, index: string, beginning: Beginning): Promise<boolean> {
  const { repository, place } = at.shadow
  if (beginning === 'empty') return true
  // Git replaces an index and never changes it, so a link is as good as a copy.
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
  // Git reads a file again if it changed as late as the index. The time may only become earlier.
  await utimes(index, found.atime, Math.floor(found.mtimeMs) / 1000)
  await forgetConverted(at, index)
  return true
}

/** Selects the files that git may convert, by their attributes. */
const converted = [
  '.',
  ':(exclude,attr:!text !crlf !eol !ident !filter !working-tree-encoding)',
  ':(exclude,attr:-text !ident !filter !working-tree-encoding)',
]

/** Marks the files that git may convert as changed, because the repository has them in their converted form. */
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
  // Without its index, nobody knows what a repository tracks.
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
 * Adds the files to the index, and returns those that another program writes while git reads them. Git then adds none of
 * the files, and does not name the file, so the files are added in ever smaller parts.
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

/** The version of the repository's index at the last snapshot. */
const readKept = (place: string) => readFile(join(place, 'tracked'), 'utf8').catch(() => '')

/**
 * Ignored files belong to a snapshot if the repository tracks them. Adds those that it tracks now, and removes those
 * that have become ignored.
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

/** The submodules, of which a tree has only the commits. */
async function submodules(at: ShadowFolder, index: string): Promise<LeftOut[]> {
  const hasAny = await stat(join(at.shadow.workTree, '.gitmodules')).catch(() => undefined)
  if (!hasAny) return []
  const entries = (await at.git(['ls-files', '-s', '-z'], { index })).toString().split('\0')
  return entries
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => ({ path: entry.slice(entry.indexOf('\t') + 1), reason: 'repository' }))
}
