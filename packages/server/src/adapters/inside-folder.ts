import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { ConnectInput } from '../core/agent-adapter.ts'

/** Home by its short name, or an address: what an agent makes of it is its own business, so it is no place in a folder. */
const notPlain = /^(~|[a-z][a-z\d+.-]*:\/\/)/i

/**
 * Whether a path, as an agent names it, really lies in one of the session's folders: every link is followed, and the
 * file need not be there. What cannot be followed is outside.
 */
export function isInsideFolders(path: string, cwd: string, directories: readonly string[] = []): boolean {
  if (notPlain.test(path)) return false
  const roots = [cwd, ...directories].map((folder) => placeOrNone(resolve(cwd, folder)))
  // A link before `..` is taken away by some programs and followed by others.
  const readings = new Set([resolve(cwd, path), isAbsolute(path) ? path : `${cwd}${sep}${path}`])
  return [...readings].every((reading) => {
    const place = placeOrNone(reading)
    return place !== undefined && roots.some((root) => root !== undefined && holds(root, place))
  })
}

type Session = Pick<ConnectInput, 'cwd' | 'settings'>

/** For an ask: whether it reaches beyond the folders. */
export function reachOf(path: unknown, { cwd, settings }: Session): { outside?: boolean } {
  const isInside = typeof path !== 'string' || isInsideFolders(path, cwd, settings.options?.directories)
  return isInside ? {} : { outside: true }
}

/** For an ask to change files: the same for all that it names. One that names none may be about any. */
export function reachOfEdit(paths: readonly string[], { cwd, settings }: Session): { outside?: boolean } {
  const directories = settings.options?.directories
  const isInside = paths.length > 0 && paths.every((path) => isInsideFolders(path, cwd, directories))
  return isInside ? {} : { outside: true }
}

/** Where a whole path leads, through every link. Throws if that cannot be told. */
export function realPlace(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // A link that leads nowhere would be followed when the file is made.
    if (lstatSync(path, { throwIfNoEntry: false })) throw new Error(`${path} is a broken link`)
    const parent = dirname(path)
    return parent === path ? path : join(realPlace(parent), basename(path))
  }
}

/** Both are real places. */
function holds(folder: string, place: string): boolean {
  return place === folder || place.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function placeOrNone(path: string): string | undefined {
  try {
    return realPlace(path)
  } catch {
    return undefined
  }
}
