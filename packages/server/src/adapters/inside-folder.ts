import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { ToolKind } from '@parley/protocol'
import type { ConnectInput } from '../core/agent-adapter.ts'
import { isProtectedPath } from './protected-paths.ts'

/** Home by its short name, or an address: what an agent makes of it is its own business, so it is no place in a folder. */
const notPlain = /^(~|[a-z][a-z\d+.-]*:\/\/)/i

/**
 * Whether a path, as an agent names it, really lies in one of the session's folders: every link is followed, and the
 * file need not be there. What cannot be followed is outside.
 */
export function isInsideFolders(path: string, cwd: string, directories: readonly string[] = []): boolean {
  if (notPlain.test(path)) return false
  const roots = [cwd, ...directories].map((folder) => placeOrNone(resolve(cwd, folder)))
  return readingsOf(path, cwd).every((reading) => rootOf(placeOrNone(reading), roots) !== undefined)
}

/** A link before `..` is taken away by some programs and followed by others. */
function readingsOf(path: string, cwd: string): string[] {
  return [...new Set([resolve(cwd, path), isAbsolute(path) ? path : `${cwd}${sep}${path}`])]
}

/** The innermost of the folders that a place lies in. */
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
 * For an ask: whether the files that it names lie outside the folders, and whether it changes a protected one. A change
 * that names no file may be about any.
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

/** By its name, and by where that really leads. The folders that hold it do not count: a session may be in one of those. */
export function leadsToProtected(path: string, { cwd, settings }: Session): boolean {
  const roots = [cwd, ...(settings.options?.directories ?? [])].map((folder) => resolve(cwd, folder))
  const places = roots.map(placeOrNone)
  const below = (whole: string, folders: readonly (string | undefined)[]) => {
    const root = rootOf(whole, folders)
    return isProtectedPath(root === undefined ? whole : whole.slice(root.length))
  }
  if (notPlain.test(path)) return isProtectedPath(path)
  return readingsOf(path, cwd).some((reading) => {
    const place = placeOrNone(reading)
    return below(resolve(reading), roots) || (place === undefined ? true : below(place, places))
  })
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

/** The same; nothing where it throws. */
export function placeOrNone(path: string): string | undefined {
  try {
    return realPlace(path)
  } catch {
    return undefined
  }
}
