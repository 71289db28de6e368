import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { hasCode, ParleyError } from '@parley/protocol'

/**
 * Opens files and folders that must be inside given folders, although another program may replace any part of a path
 * with a link at any time. The check uses the opened file, not its path.
 */

/** An open file or folder, and its real path. */
export type Opened = AsyncDisposable & {
  readonly handle: FileHandle
  readonly path: string
  readonly stats: Stats
}

export function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path)
  return inside !== '..' && !inside.startsWith('../') && !isAbsolute(inside)
}

/** Opens a regular file for reading. Never opens a pipe or a device, which could block or have an effect. */
export function openFile(folders: readonly string[], path: string): Promise<Opened> {
  return opened(folders, path, {
    isRight: (stats) => stats.isFile(),
    flags: 0,
    wrong: (stats) => (stats.isDirectory() ? `${path} is a folder.` : `${path} is not a regular file.`),
  })
}

export function openFolder(folders: readonly string[], path: string): Promise<Opened> {
  return opened(folders, path, {
    isRight: (stats) => stats.isDirectory(),
    flags: constants.O_DIRECTORY,
    wrong: () => `${path} is not a folder.`,
  })
}

type Wanted = {
  readonly isRight: (stats: Stats) => boolean
  readonly flags: number
  readonly wrong: (stats: Stats) => string
}

async function opened(folders: readonly string[], path: string, wanted: Wanted): Promise<Opened> {
  const real = await realPathInside(folders, path)
  try {
    const before = await lstat(real)
    if (!wanted.isRight(before)) throw notRight(before, wanted)
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
    const handle = await open(real, flags | wanted.flags).catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'ELOOP' ? replaced() : thrown
    })
    try {
      const stats = await handle.stat()
      if (!wanted.isRight(stats)) throw notRight(stats, wanted)
      const where = await pathOf(handle, real, stats)
      if (!folders.some((folder) => isInside(folder, where))) throw outside(path)
      return { handle, path: where, stats, [Symbol.asyncDispose]: () => handle.close() }
    } catch (thrown) {
      await handle.close()
      throw thrown
    }
  } catch (thrown) {
    throw failure(thrown, path)
  }
}

/**
 * Returns the real path. Throws ParleyError `forbidden` if it is outside the folders. The error does not reveal
 * whether the path exists.
 */
export async function realPathInside(folders: readonly string[], path: string): Promise<string> {
  if (path.includes('\0'))
    throw new ParleyError('validation_error', 'A path must not contain null characters.')
  const given = resolve(folders[0] ?? '/', path)
  const expectInside = (place: string) => {
    if (!folders.some((folder) => isInside(folder, place))) throw outside(path)
  }
  expectInside(given)
  try {
    const real = await realpath(given)
    expectInside(real)
    return real
  } catch (thrown) {
    if (!hasCode(thrown, 'forbidden')) {
      await expectFolder(folders.find((folder) => isInside(folder, given)) ?? '/')
      expectInside(await nearestRealPath(given))
    }
    throw failure(thrown, path)
  }
}

/**
 * Throws `not_found` if the folder no longer exists. Without this check, the paths in it would be refused as outside.
 */
async function expectFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (!found)
    throw new ParleyError('not_found', `The folder ${folder} does not exist any more.`, {
      details: { gone: folder },
    })
}

/** The real path of the nearest parent folder that exists. */
async function nearestRealPath(path: string): Promise<string> {
  for (let place = dirname(path); ; place = dirname(place)) {
    const real = await realpath(place).catch(() => undefined)
    if (real !== undefined) return real
    if (place === dirname(place)) return place
  }
}

/** The current path of an open file, as the system reports it. */
async function pathOf({ fd }: FileHandle, real: string, { dev, ino }: Stats): Promise<string> {
  const known = await readlink(`/proc/self/fd/${fd}`).catch(() => undefined)
  if (known !== undefined) return known
  // Without /proc, as on macOS, the path is resolved again and must lead to the same file.
  const now = await realpath(real)
  const there = await stat(now)
  if (there.dev === dev && there.ino === ino) return now
  throw replaced()
}

/**
 * A path that leads to the open folder even if the folder is moved or replaced. On systems without /proc, the
 * original path.
 */
export async function pathThrough({ handle, path }: Opened): Promise<string> {
  const through = `/proc/self/fd/${handle.fd}`
  return readlink(through).then(
    () => through,
    () => path,
  )
}

function notRight(stats: Stats, { wrong }: Wanted): ParleyError {
  return new ParleyError('validation_error', wrong(stats), { details: { folder: stats.isDirectory() } })
}

function outside(path: string): ParleyError {
  return new ParleyError(
    'forbidden',
    `${path} is not in the folders of this session. Only files inside them can be read.`,
    { details: { outside: true } },
  )
}

function replaced(): ParleyError {
  return new ParleyError('conflict', 'The file was replaced while it was opened. Try again.')
}

/** Converts the error of a file operation to a ParleyError with advice. */
export function failure(thrown: unknown, path: string): unknown {
  if (thrown instanceof ParleyError) return thrown
  switch ((thrown as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ELOOP':
      return new ParleyError('not_found', `There is no ${path} in this session's folder.`, { cause: thrown })
    case 'EACCES':
    case 'EPERM':
      return new ParleyError('forbidden', `The server may not read ${path}.`, { cause: thrown })
    case 'ENAMETOOLONG':
      return new ParleyError('validation_error', 'The path is too long.', { cause: thrown })
    default:
      return thrown
  }
}
