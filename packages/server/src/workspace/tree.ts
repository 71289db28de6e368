import type { Dirent } from 'node:fs'
import { lstat, opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tree, TreeEntry } from '@parley/protocol'
import { failure, openFolder, pathThrough, realPathInside } from './inside.ts'

const maxEntries = 5_000
const order = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** One level of a folder: its entries, folders first. The git directory is left out. */
export async function readTree(
  folders: readonly string[],
  path: string,
): Promise<{ readonly real: string; readonly entries: TreeEntry[]; readonly cut: boolean }> {
  await using folder = await openFolder(folders, path)
  const place = await pathThrough(folder)
  try {
    const found: Dirent[] = []
    let cut = false
    for await (const entry of await opendir(place)) {
      if (entry.name.toLowerCase() === '.git') continue
      if (found.length === maxEntries) {
        cut = true
        break
      }
      found.push(entry)
    }
    const described = found.map((entry) => describe(folders, { place, real: folder.path }, entry))
    return { real: folder.path, entries: (await Promise.all(described)).sort(byKind), cut }
  } catch (thrown) {
    throw failure(thrown, path)
  }
}

type Parent = { readonly place: string; readonly real: string }

async function describe(
  folders: readonly string[],
  { place, real }: Parent,
  entry: Dirent,
): Promise<TreeEntry> {
  const { name } = entry
  if (entry.isDirectory()) return { name, kind: 'folder' }
  if (entry.isSymbolicLink()) {
    const leadsTo = await targetOf(folders, join(real, name))
    return { name, kind: 'link', ...(leadsTo && { leadsTo }) }
  }
  if (!entry.isFile()) return { name, kind: 'other' }
  // The file may have been removed meanwhile, or its name may not be UTF-8.
  const stats = await lstat(join(place, name)).catch(() => undefined)
  return stats?.isFile() ? { name, kind: 'file', size: stats.size } : { name, kind: 'other' }
}

/**
 * The kind of the target of a link. Undefined if the target is outside the folders, or is neither a file nor a
 * folder.
 */
async function targetOf(folders: readonly string[], path: string): Promise<Tree['entries'][0]['leadsTo']> {
  try {
    const stats = await stat(await realPathInside(folders, path))
    return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : undefined
  } catch {
    return undefined
  }
}

const rank = ({ kind, leadsTo }: TreeEntry) => (kind === 'folder' || leadsTo === 'folder' ? 0 : 1)

function byKind(one: TreeEntry, other: TreeEntry): number {
  return rank(one) - rank(other) || order.compare(one.name, other.name) || (one.name < other.name ? -1 : 1)
}
