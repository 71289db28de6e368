import { createHash, randomBytes } from 'node:crypto'
import { cp, mkdir, readdir, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { findRepository, type Repository, type RepositoryFormat } from './repository.ts'

/**
 * A shadow is a git directory of a project that belongs to Parley. It is in the data folder, has its own
 * configuration and no hooks, uses the objects of the repository as alternates, and stores the additional objects of
 * snapshots. Its parts:
 * - `objects/`, with `info/alternates`
 * - `refs/snapshots/<session>/<tree>`: keeps the snapshots of a session
 * - `folders/<name>/index`: for each work tree, the index of the last snapshot, which makes the next snapshot fast
 *
 * Only the process that owns the data folder writes to a shadow. There are no locks: each file is written under a new
 * name and then renamed, so a kill leaves at most a file that the next snapshot removes.
 */
export type Shadow = {
  readonly gitDir: string
  /** The work tree of the repository, or the folder itself. */
  readonly workTree: string
  readonly repository: Repository | undefined
  /** The folder of this work tree inside the shadow. */
  readonly place: string
}

export type FormatOf = (repository: Repository) => Promise<RepositoryFormat>

/** Folders that are skipped if the session folder is in no repository, because then no rule says what to ignore. */
const skipped = ['node_modules', '.venv', 'target', 'dist']

/** Returns the shadow of the folder's project. Makes it if there is none. */
export async function shadowOf(root: string, folder: string, formatOf: FormatOf): Promise<Shadow> {
  const repository = await findRepository(folder)
  const workTree = repository?.workTree ?? folder
  const project = await projectOf(folder, repository)
  const objects = repository ? (await formatOf(repository)).objects : 'sha1'
  const gitDir = join(root, `${nameFor(project)}-${objects}`)
  const place = join(gitDir, 'folders', nameFor(workTree))
  const made = await mkdir(place, { recursive: false }).catch((error: NodeJS.ErrnoException) => error)
  if (made instanceof Error && made.code === 'ENOENT') {
    await makeShadow(gitDir, { project, repository, objects })
    await mkdir(place, { recursive: true })
  } else if (made instanceof Error && made.code !== 'EEXIST') throw made
  return { gitDir, workTree, repository, place }
}

/** The real path of the repository's common directory, or the folder if it belongs to no repository. */
export async function projectOf(
  folder: string,
  repository: Repository | undefined = undefined,
): Promise<string> {
  const found = repository ?? (await findRepository(folder))
  if (found) return realpath(found.commonDir)
  if (isHome(folder)) {
    const message = `No snapshots are taken of ${folder}, because it is the home folder or contains it. Work in another folder.`
    throw new ParleyError('not_supported', message)
  }
  return folder
}

/** True if the folder is the home folder or contains it. */
const isHome = (folder: string) => `${homedir()}/`.startsWith(folder === '/' ? '/' : `${folder}/`)

export const nameFor = (path: string) => createHash('sha256').update(path).digest('hex').slice(0, 32)

type New = {
  readonly project: string
  readonly repository: Repository | undefined
  readonly objects: RepositoryFormat['objects']
}

async function makeShadow(gitDir: string, { project, repository, objects }: New): Promise<void> {
  if (/[\r\n]/.test(project))
    throw new ParleyError(
      'not_supported',
      'No snapshots are taken of a folder with a line break in its path.',
    )
  const made = `${gitDir}.${randomBytes(6).toString('hex')}`
  for (const part of ['objects/info', 'refs/heads', 'info', 'folders'])
    await mkdir(join(made, part), { recursive: true, mode: 0o700 })
  const config = ['[core]', `repositoryFormatVersion = ${objects === 'sha1' ? 0 : 1}`, 'bare = false']
  const extensions = objects === 'sha1' ? [] : ['[extensions]', `objectFormat = ${objects}`]
  await Promise.all([
    writeFile(join(made, 'HEAD'), 'ref: refs/heads/none\n'),
    writeFile(join(made, 'config'), `${[...config, ...extensions].join('\n')}\n`),
    writeFile(join(made, 'info/attributes'), `${exactly}\n`),
    writeFile(join(made, 'project'), project),
    ...(repository
      ? [
          writeFile(join(made, 'objects/info/alternates'), `${join(project, 'objects')}\n`),
          symlink(join(project, 'info/exclude'), join(made, 'info/exclude')),
        ]
      : [writeFile(join(made, 'info/exclude'), skipped.map((name) => `${name}/\n`).join(''))]),
  ])
  await rename(made, gitDir).catch(async (error: NodeJS.ErrnoException) => {
    await rm(made, { recursive: true, force: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
}

/** Attributes that disable all conversions, so that files can be restored exactly. */
const exactly = '* -text -eol !ident !filter !working-tree-encoding'

const refsOf = (gitDir: string, sessionId: string) => join(gitDir, 'refs/snapshots', nameFor(sessionId))

/** Keeps a tree until the session is deleted. */
export async function keepTree({ gitDir }: Shadow, sessionId: string, tree: string): Promise<void> {
  const folder = refsOf(gitDir, sessionId)
  await mkdir(folder, { recursive: true })
  const made = join(folder, `.${randomBytes(6).toString('hex')}`)
  await writeFile(made, `${tree}\n`)
  await rename(made, join(folder, tree))
}

export async function isKept({ gitDir }: Shadow, sessionId: string, tree: string): Promise<boolean> {
  const found = await stat(join(refsOf(gitDir, sessionId), tree)).catch(() => undefined)
  return found !== undefined
}

export async function shareTrees({ gitDir }: Shadow, from: string, to: string): Promise<void> {
  await cp(refsOf(gitDir, from), refsOf(gitDir, to), { recursive: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    },
  )
}

const pruneAfterMs = 60 * 60 * 1000

/** The git directories of the shadows in which trees of a session are kept. */
export async function shadowsWith(root: string, sessionId: string): Promise<string[]> {
  const all = (await readdir(root).catch(() => [])).map((name) => join(root, name))
  const found = await Promise.all(all.map((gitDir) => stat(refsOf(gitDir, sessionId)).catch(() => undefined)))
  return all.filter((_, index) => found[index])
}

/**
 * Drops the trees of a session. If no other session has trees in the shadow, removes the shadow. Otherwise calls
 * `prune`, at most once in `pruneAfterMs`, to remove unused objects. Without `prune`, the next call with `prune`
 * removes them.
 */
export async function forgetTrees(
  { gitDir }: Pick<Shadow, 'gitDir'>,
  sessionId: string,
  prune?: () => Promise<unknown>,
): Promise<void> {
  await rm(refsOf(gitDir, sessionId), { recursive: true, force: true })
  const left = await readdir(join(gitDir, 'refs/snapshots')).catch(() => [])
  if (left.length === 0) {
    const gone = `${gitDir}.${randomBytes(6).toString('hex')}`
    await rename(gitDir, gone)
    await rm(gone, { recursive: true, force: true, maxRetries: 3 })
    return
  }
  if (!prune) return
  const pruned = await stat(join(gitDir, 'pruned')).catch(() => undefined)
  if (pruned && Date.now() - pruned.mtimeMs < pruneAfterMs) return
  await writeFile(join(gitDir, 'pruned'), '')
  // Removes the indexes of earlier snapshots, because they may refer to objects that are pruned.
  for (const name of await readdir(join(gitDir, 'folders')))
    await rm(join(gitDir, 'folders', name, 'index'), { force: true })
  await prune()
}
