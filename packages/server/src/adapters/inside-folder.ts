import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { ConnectInput } from '../core/agent-adapter.ts'

/** Whether a path, as an agent names it, lies in one of the session's folders. By name alone: links are not followed. */
export function isInsideFolders(path: string, cwd: string, directories: readonly string[] = []): boolean {
  const place = resolve(cwd, path)
  return [cwd, ...directories].some((folder) => {
    const way = relative(resolve(cwd, folder), place)
    return way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`))
  })
}

/** For an ask: whether it reaches beyond the folders. */
export function reachOf(
  path: unknown,
  { cwd, settings }: Pick<ConnectInput, 'cwd' | 'settings'>,
): { outside?: boolean } {
  const isInside = typeof path !== 'string' || isInsideFolders(path, cwd, settings.options?.directories)
  return isInside ? {} : { outside: true }
}
