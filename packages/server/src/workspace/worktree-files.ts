import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { hasCode, type LeftOut } from '@parley/protocol'
import type { Look } from './git.ts'
import { isInside, openFile } from './inside.ts'

/** Copies ignored files, such as `.env`, into a worktree. Only regular files are copied, and no link is followed. */

const maxFileBytes = 10 * 1024 * 1024
const maxFiles = 200
const maxPatterns = 200
const maxIncludeBytes = 64 * 1024
/** The pattern of files that are offered for copying even if no setting names them. */
const usual = '.env*'

export type IgnoredFile = { readonly path: string; readonly bytes: number; readonly chosen: boolean }

/**
 * The ignored files that can be copied: those that the patterns or `.worktreeinclude` name, and those that are always
 * offered.
 */
export async function ignoredFiles(
  look: Look,
  workTree: string,
  patterns: readonly string[],
): Promise<IgnoredFile[]> {
  const wanted = [...patterns, ...(await includedBy(workTree))].slice(0, maxPatterns)
  const [chosen, offered] = await Promise.all([matching(look, wanted), matching(look, [usual])])
  const isChosen = new Set(chosen)
  const ignored = await ignoredAmong(look, [...new Set([...chosen, ...offered])])
  const found: IgnoredFile[] = []
  for (const path of ignored) {
    const stats = await lstat(join(workTree, path)).catch(() => undefined)
    if (!isCopyable(stats)) continue
    found.push({ path, bytes: stats.size, chosen: isChosen.has(path) })
    if (found.length === maxFiles) break
  }
  return found
}

export async function ignoredAmong(look: Look, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return []
  // With `./`, a path that starts with a colon is not read as pathspec magic.
  const input = paths.map((path) => `./${path}\0`).join('')
  const { code, stdout } = await look(['check-ignore', '-z', '--stdin'], { input })
  if (code !== 0) return []
  const ignored = new Set(stdout.split('\0').map((path) => path.slice(2)))
  return paths.filter((path) => ignored.has(path))
}

const isCopyable = (stats: Stats | undefined): stats is Stats =>
  stats?.isFile() === true && stats.size <= maxFileBytes

async function matching(look: Look, patterns: readonly string[]): Promise<string[]> {
  if (patterns.length === 0) return []
  const options = patterns.map((pattern) => `--exclude=${pattern}`)
  const { code, cut, stdout } = await look(['ls-files', '-z', '--others', '--ignored', ...options])
  return code === 0 && !cut ? stdout.split('\0').filter((path) => path !== '' && !path.endsWith('/')) : []
}

/** The lines of `.worktreeinclude`, in the format of `.gitignore`. */
async function includedBy(workTree: string): Promise<string[]> {
  try {
    await using file = await openFile([workTree], '.worktreeinclude')
    if (file.stats.size > maxIncludeBytes) return []
    const text = await file.handle.readFile('utf8')
    return text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'))
  } catch (thrown) {
    if (hasCode(thrown, 'not_found', 'validation_error', 'forbidden')) return []
    throw thrown
  }
}

/**
 * Copies files into a new worktree in which no program runs yet. Returns the files that were not copied, each with
 * the reason.
 */
export async function copyFiles(
  from: string,
  to: string,
  paths: readonly string[],
): Promise<{ copied: string[]; leftOut: LeftOut[] }> {
  const copied: string[] = []
  const leftOut: LeftOut[] = []
  for (const path of paths) {
    const isCopied = await copyFile(from, to, path).catch(() => false)
    if (isCopied) copied.push(path)
    else leftOut.push({ path, reason: 'not-copied' })
  }
  return { copied, leftOut }
}

async function copyFile(from: string, to: string, path: string): Promise<boolean> {
  if (!isInside(to, join(to, path)) || path.split('/').includes('.git')) return false
  await using source = await openFile([from], path)
  if (!isCopyable(source.stats) || source.path !== join(from, path)) return false
  const bytes = await source.handle.readFile()
  const target = join(to, path)
  await mkdir(dirname(target), { recursive: true })
  // A link among the checked-out files must not lead the copy out of the worktree.
  if (relative(await realpath(to), await realpath(dirname(target))) !== relative(to, dirname(target)))
    return false
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  await using file = await open(target, flags, source.stats.mode & 0o777)
  await file.writeFile(bytes)
  return true
}

/** True if the file in the worktree has the same content as the file from which it was copied. */
export async function isSameFile(one: string, other: string, path: string): Promise<boolean> {
  try {
    await using first = await openFile([one], path)
    await using second = await openFile([other], path)
    if (first.stats.size !== second.stats.size || !isCopyable(first.stats)) return false
    return (await first.handle.readFile()).equals(await second.handle.readFile())
  } catch {
    return false
  }
}
