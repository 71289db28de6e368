import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Diff } from '@parley/protocol'
import { compareTexts, patchText } from '@parley/protocol/diff'
import type { ConnectInput } from './agent-adapter.ts'
import { isInsideFolders, placeOrNone } from './inside-folder.ts'

/**
 * Builds the diff of a change that an agent requests, for a person to review. Reads the current file if it is a regular
 * file inside the session's folders (after following links) and not too large. Never throws: if the file cannot be
 * read, the diff shows only the texts that the agent gave.
 */

export type Session = Pick<ConnectInput, 'cwd' | 'settings'>
/** Texts to replace in a file: the first occurrence of `old`, or with `everywhere` each occurrence. */
export type Replacement = { readonly old: string; readonly new: string; readonly everywhere?: boolean }

const largestFile = 1024 * 1024
/** The largest result that is built here: a short replacement can make a file very large. */
const largestResult = 2 * largestFile

/** The diff of overwriting the whole file with `content`. */
export async function writeDiff(path: string, content: string, session: Session): Promise<Diff> {
  const before = await readForDiff(path, session)
  if (before === undefined) return { path, after: content }
  return before === null ? { path, before, after: content } : { path, patch: patchOf(before, content) }
}

/** The diff of replacing parts of the file, in order. */
export async function replaceDiff(
  path: string,
  replacements: readonly Replacement[],
  session: Session,
): Promise<Diff> {
  const found = await readForDiff(path, session)
  // Ignores the kind of line break, as agents do when they search for the text.
  const before = found?.replaceAll('\r\n', '\n') ?? found
  const after = typeof before === 'string' ? replaced(before, replacements) : undefined
  if (typeof before === 'string' && after !== undefined) return { path, patch: patchOf(before, after) }
  const [first, ...more] = replacements
  if (before === null && first?.old === '' && more.length === 0) return { path, before, after: first.new }
  return {
    path,
    patch: replacements.map(({ old, new: now }) => patchOf(asLines(old), asLines(now))).join('\n'),
  }
}

/** Adds a final line break: a fragment that ends within a line must not look like the end of the file. */
function asLines(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function patchOf(before: string, after: string): string {
  return patchText(compareTexts(before, after))
}

/**
 * The text after all replacements. Returns undefined if the result is too large, or if a text to replace is missing; in
 * the latter case the agent's own tool fails too.
 */
function replaced(text: string, replacements: readonly Replacement[]): string | undefined {
  let after = text
  for (const { old, new: now, everywhere } of replacements) {
    if (old === '' || !after.includes(old)) return undefined
    const times = everywhere ? after.split(old).length - 1 : 1
    if (after.length + times * (now.length - old.length) > largestResult) return undefined
    after = everywhere ? after.replaceAll(old, () => now) : after.replace(old, () => now)
  }
  return after
}

/** The text of a file; null if the file does not exist; undefined if it may not or cannot be read. */
export async function readForDiff(path: string, session: Session): Promise<string | null | undefined> {
  const { cwd, settings } = session
  if (!isInsideFolders(path, cwd, settings.options?.directories)) return undefined
  const place = placeOrNone(resolve(cwd, path))
  if (place === undefined) return undefined
  // `place` contains no links. O_NOFOLLOW refuses a link that has replaced the file since `place` was resolved.
  // O_NONBLOCK prevents a pipe from blocking.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  try {
    await using file = await open(place, flags)
    const stat = await file.stat()
    if (!stat.isFile() || stat.size > largestFile) return undefined
    const bytes = await file.readFile()
    return bytes.includes(0) ? undefined : bytes.toString('utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : undefined
  }
}
