import { constants, rmSync } from 'node:fs'
import { mkdir, mkdtemp, open, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/**
 * The location of a repository. `gitDir` belongs to one work tree (HEAD, index); `commonDir` contains the data that all
 * work trees share (configuration, objects, refs). They differ only in linked work trees.
 */
export type Repository = { readonly workTree: string; readonly gitDir: string; readonly commonDir: string }

const maxPointerBytes = 4_096

/**
 * Finds the repository that a folder belongs to. Only a `.git` in the folder or above it counts: with any version of
 * git, files of a work tree that look like a bare repository are never treated as a repository.
 */
export async function findRepository(folder: string): Promise<Repository | undefined> {
  for (let place = folder; ; place = dirname(place)) {
    const gitDir = await gitDirAt(join(place, '.git'))
    const commonDir = gitDir === undefined ? undefined : await commonDirOf(gitDir)
    if (gitDir !== undefined && commonDir !== undefined) return { workTree: place, gitDir, commonDir }
    if (place === dirname(place)) return undefined
  }
}

async function gitDirAt(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) return path
  const pointed = found?.isFile() ? await readPointer(path) : undefined
  const target = /^gitdir: (.+)$/s.exec(pointed ?? '')?.[1]
  return target === undefined ? undefined : resolve(dirname(path), target)
}

/** The directory that all work trees share; undefined if `gitDir` is not a git directory. */
async function commonDirOf(gitDir: string): Promise<string | undefined> {
  const pointed = await readPointer(join(gitDir, 'commondir'))
  const commonDir = pointed === undefined ? gitDir : resolve(gitDir, pointed)
  const parts = [join(gitDir, 'HEAD'), join(commonDir, 'objects'), join(commonDir, 'refs')]
  const found = await Promise.all(parts.map((part) => stat(part).catch(() => undefined)))
  return found.every((part) => part !== undefined) ? commonDir : undefined
}

/** Reads the one line of a small file. A pipe in its place does not block the call. */
export async function readPointer(path: string, flags = 0): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags)
    const found = await file.stat()
    if (!found.isFile() || found.size > maxPointerBytes) return undefined
    return (await file.readFile('utf8')).replace(/[\r\n]+$/, '')
  } catch {
    return undefined
  }
}

/** The file formats that git needs to read a repository. */
export type RepositoryFormat = { readonly objects: 'sha1' | 'sha256'; readonly refs: 'files' | 'reftable' }

const standIns = new Map<string, Promise<string>>()
let root: Promise<string> | undefined

/**
 * A stand-in for the common directory of a repository. It has the repository's refs, reflogs and excludes, but none of
 * the repository's configuration, attributes and hooks.
 */
export async function standInFor(commonDir: string, format: RepositoryFormat): Promise<string> {
  const key = JSON.stringify([commonDir, format])
  const known = standIns.get(key)
  if (known && (await isThere(join(await known, 'config')))) return known
  const made = makeStandIn(commonDir, format)
  standIns.set(key, made)
  made.catch(() => standIns.delete(key))
  return made
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

async function makeStandIn(commonDir: string, { objects, refs }: RepositoryFormat): Promise<string> {
  // A cleanup of temporary files may have removed the earlier folder.
  if (!root || !(await isThere(await root))) root = temporaryFolder()
  const place = await mkdtemp(join(await root, 'repository-'))
  await mkdir(join(place, 'objects'))
  await mkdir(join(place, 'info'))
  for (const part of [
    'HEAD',
    'logs',
    'packed-refs',
    'refs',
    'reftable',
    'shallow',
    'worktrees',
    'info/exclude',
  ])
    await symlink(join(commonDir, part), join(place, part))
  const extensions = [
    ...(objects === 'sha1' ? [] : [`objectFormat = ${objects}`]),
    ...(refs === 'files' ? [] : [`refStorage = ${refs}`]),
  ]
  const version = extensions.length === 0 ? 0 : 1
  const lines = [
    '[core]',
    `repositoryFormatVersion = ${version}`,
    'bare = false',
    '[extensions]',
    ...extensions,
  ]
  await writeFile(join(place, 'config'), `${lines.join('\n')}\n`)
  return place
}

/** Creates a temporary folder that is removed when the process exits. */
async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-git-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
