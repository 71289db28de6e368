import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { ToolKind } from '@parley/protocol'
import type { ConnectInput } from './agent-adapter.ts'
import { isProtectedPath } from './protected-paths.ts'

/**
 * Matches a path that starts with `~`, or a URL. Each agent interprets these differently, so they count as outside
 * every folder.
 */
const notPlain = /^(~|[a-z][a-z\d+.-]*:\/\/)/i

/**
 * True if a path, as an agent names it, lies in one of the session's folders. Every link is followed, and the file
 * need not exist. A path that cannot be resolved is outside.
 */
export function isInsideFolders(path: string, cwd: string, directories: readonly string[] = []): boolean {
  if (notPlain.test(path)) return false
  const roots = [cwd, ...directories].map((folder) => placeOrNone(resolve(cwd, folder)))
  return possiblePaths(path, cwd).every((candidate) => rootOf(placeOrNone(candidate), roots) !== undefined)
}

/**
 * The paths that a program may mean. For a link followed by `..`, some programs resolve `..` textually and
 * others follow the link first.
 */
function possiblePaths(path: string, cwd: string): string[] {
  return [...new Set([resolve(cwd, path), isAbsolute(path) ? path : `${cwd}${sep}${path}`])]
}

/** The innermost of `roots` that contains `place`. */
function rootOf(place: string | undefined, roots: readonly (string | undefined)[]): string | undefined {
  if (place === undefined) return undefined
  return roots
    .filter((root) => root !== undefined && holds(root, place))
    .toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0]
}

type Session = Pick<ConnectInput, 'cwd' | 'settings'>
export type Reach = { readonly outside?: true; readonly protected?: true }

const reading: ReadonlySet<ToolKind> = new Set(['read', 'search'])
const changing: ReadonlySet<ToolKind> = new Set(['edit', 'delete', 'move'])

/**
 * Reports whether the files that a request names lie outside the session's folders, and whether the request changes a
 * protected file. A change that names no file may affect any file.
 */
export function reachOf(kind: ToolKind, paths: readonly string[], session: Session): Reach {
  const isChange = changing.has(kind)
  if (!isChange && !reading.has(kind)) return {}
  const { cwd, settings } = session
  const { directories } = settings.options ?? {}
  const outside = isChange && paths.length === 0
  const isOutside = outside || paths.some((path) => !isInsideFolders(path, cwd, directories))
  const isProtected = isChange && paths.some((path) => leadsToProtected(path, session))
  return { ...(isOutside && { outside: true }), ...(isProtected && { protected: true }) }
}

/**
 * True if the path is protected, either as written or after every link is followed. Folders above the session folder
 * do not count: a session may run inside a protected folder.
 */
export function leadsToProtected(path: string, { cwd, settings }: Session): boolean {
  const roots = [cwd, ...(settings.options?.directories ?? [])].map((folder) => resolve(cwd, folder))
  const places = roots.map(placeOrNone)
  const below = (whole: string, folders: readonly (string | undefined)[]) => {
    const root = rootOf(whole, folders)
    return isProtectedPath(root === undefined ? whole : whole.slice(root.length))
  }
  if (notPlain.test(path)) return isProtectedPath(path)
  return possiblePaths(path, cwd).some((candidate) => {
    const place = placeOrNone(candidate)
    return below(resolve(candidate), roots) || (place === undefined ? true : below(place, places))
  })
}

/** Resolves every link of an absolute path. Throws if the path cannot be resolved. */
export function realPlace(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // Creating a file through a broken link would create the target of the link.
    if (lstatSync(path, { throwIfNoEntry: false })) throw new Error(`${path} is a broken link`)
    const parent = dirname(path)
    return parent === path ? path : join(realPlace(parent), basename(path))
  }
}

/** True if `place` is the folder or lies inside it. Both must be resolved paths. */
function holds(folder: string, place: string): boolean {
  return place === folder || place.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/** Like `realPlace`, but returns undefined if the path cannot be resolved. */
export function placeOrNone(path: string): string | undefined {
  try {
    return realPlace(path)
  } catch {
    return undefined
  }
}
