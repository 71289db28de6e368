import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { GitIn } from './git.ts'

const freshMs = 5_000
const maxFiles = 200_000
/**
 * The maximum number of folders that are read outside a repository, such as in a home folder. Folders near the top are
 * read first.
 */
const maxFolders = 10_000
const skipped = new Set(['.git', 'node_modules', '.venv', 'target', 'dist'])

/** `at` is the time when the listing was complete. */
type Listing = { at: number; readonly files: Promise<readonly string[]> }

export type FolderFiles = ReturnType<typeof createFolderFiles>

/**
 * The files of folders, without those that git ignores. A listing is cached for a few seconds, so that typing is fast.
 */
export function createFolderFiles(gitIn: GitIn, now: () => number = Date.now) {
  const listings = new Map<string, Listing>()

  function listingOf(folder: string): Promise<readonly string[]> {
    const known = listings.get(folder)
    if (known && now() - known.at < freshMs) return known.files
    for (const [other, { at }] of listings) if (now() - at >= freshMs) listings.delete(other)
    const files = list(gitIn, folder)
    const listing: Listing = { at: Number.POSITIVE_INFINITY, files }
    listings.set(folder, listing)
    files.then(
      () => {
        listing.at = now()
      },
      () => listings.delete(folder),
    )
    return files
  }

  return {
    /** Paths inside the folder that match the query, the best match first. */
    async find(folder: string, query: string, limit: number): Promise<string[]> {
      return bestOf(await listingOf(folder), query, limit)
    },
  }
}

async function list(gitIn: GitIn, folder: string): Promise<readonly string[]> {
  const { look } = gitIn({ path: folder, trusted: false })
  const found = await look(['ls-files', '-z', '--cached', '--others', '--exclude-standard']).catch(
    () => undefined,
  )
  if (found?.code === 0)
    return found.stdout
      .split('\0')
      .filter((path) => path !== '')
      .slice(0, maxFiles)
  return walk(folder)
}

async function walk(folder: string): Promise<string[]> {
  const files: string[] = []
  const folders = ['']
  for (const [read, place] of folders.entries()) {
    if (read >= maxFolders || files.length >= maxFiles) break
    for (const entry of await readdir(join(folder, place), { withFileTypes: true }).catch(() => [])) {
      const path = place === '' ? entry.name : `${place}/${entry.name}`
      if (entry.isDirectory() && !skipped.has(entry.name)) folders.push(path)
      else if (entry.isFile()) files.push(path)
    }
  }
  return files
}

/**
 * Ranks paths: first names that start with the query, then names or paths that contain it, then paths whose word
 * initials contain it (`ucs` finds use-changes-stream.ts). Letters that are merely scattered over a path do not match.
 */
export function bestOf(files: readonly string[], query: string, limit: number): string[] {
  const wanted = query.toLowerCase()
  if (wanted === '') return files.toSorted((a, b) => depth(a) - depth(b) || compare(a, b)).slice(0, limit)
  const scored: { path: string; score: number }[] = []
  for (const path of files) {
    const score = scoreOf(path, wanted)
    if (score !== undefined) scored.push({ path, score })
  }
  scored.sort((a, b) => b.score - a.score || a.path.length - b.path.length || compare(a.path, b.path))
  return scored.slice(0, limit).map(({ path }) => path)
}

function scoreOf(path: string, wanted: string): number | undefined {
  const lower = path.toLowerCase()
  const name = lower.slice(lower.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 1_000 - name.length
  if (name.includes(wanted)) return 800 - name.length
  if (lower.includes(wanted)) return 600 - lower.length / 10
  const initials = path.replace(initial, '$1').toLowerCase()
  return initials.includes(wanted) ? 300 - initials.length : undefined
}

/** Matches a word and the separator after it, and captures the first letter. */
const initial = /([a-z0-9]|[A-Z])(?:[a-z0-9]*)[^a-zA-Z0-9]*/g

const depth = (path: string) => path.split('/').length
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
