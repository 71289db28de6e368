import { opendir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'

/**
 * The maximum number of entries of a folder that are read, to limit the time of an answer. Entries beyond this limit
 * are not found, however much of the name is typed.
 */
const maxEntries = 20_000

/**
 * Folders whose path starts with the typed text, in the form that a person typed: `~` is not expanded. Only names are
 * returned, never contents. Hidden folders are included only if the last name in the typed text starts with a dot.
 */
export async function foldersLike(typed: string, limit: number): Promise<string[]> {
  const query = typed === '' || typed === '~' ? '~/' : typed
  if (!/^(~\/|\/)/.test(query) || query.includes('\0')) {
    throw new ParleyError('validation_error', 'Give an absolute path, or one that begins with ~/.')
  }
  const cut = query.lastIndexOf('/') + 1
  const [shown, start] = [query.slice(0, cut), query.slice(cut)]
  const place = shown.startsWith('~/') ? join(homedir(), shown.slice(2)) : shown
  const names = await namesIn(place, start, limit)
  return names.map((name) => `${shown}${name}`)
}

async function namesIn(place: string, start: string, limit: number): Promise<string[]> {
  const wanted = start.toLowerCase()
  const fits = (name: string) =>
    name.toLowerCase().startsWith(wanted) && (start.startsWith('.') || !name.startsWith('.'))
  const names: string[] = []
  const links: string[] = []
  let read = 0
  for await (const entry of await opened(place)) {
    if (++read > maxEntries) break
    if (!fits(entry.name)) continue
    if (entry.isDirectory()) names.push(entry.name)
    else if (entry.isSymbolicLink() && links.length < limit) links.push(entry.name)
  }
  const leading = await Promise.all(links.map((name) => isFolder(join(place, name))))
  names.push(...links.filter((_, index) => leading[index]))
  return names.toSorted((a, b) => a.localeCompare(b)).slice(0, limit)
}

async function opened(place: string) {
  try {
    return await opendir(place)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new ParleyError('not_found', `The folder ${place} does not exist.`, { cause })
    if (code === 'ENOTDIR') throw new ParleyError('not_found', `${place} is not a folder.`, { cause })
    if (code === 'EACCES' || code === 'EPERM') {
      throw new ParleyError('forbidden', `The folder ${place} is not readable by the server.`, { cause })
    }
    throw new ParleyError('validation_error', `The folder ${place} cannot be read (${code}).`, { cause })
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
