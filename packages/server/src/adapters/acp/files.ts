import { constants } from 'node:fs'
import { lstat, mkdir, open, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk/unstable'
import type { PermissionAsk, Person } from '../../core/agent-adapter.ts'
import { patchOf } from './patch.ts'

const largestFile = 32 * 1024 * 1024

/** What the host does with files for an agent: nothing outside the session's folders, and no change unasked. */
export type FileMethods = {
  read(params: unknown): Promise<{ content: string }>
  write(params: unknown, signal: AbortSignal): Promise<Record<string, never>>
  /** This was allowed in this turn: files that it names may be written. */
  allow(ask: PermissionAsk, paths: readonly string[]): Promise<void>
  /** A new turn: nothing is allowed yet. */
  forget(): void
}

export function createFileMethods(options: { folders: readonly string[]; person: Person }): FileMethods {
  const { folders, person } = options
  const allowed = new Map<string, PermissionAsk>()

  /** The question is asked unless it was answered in this turn, and no rule speaks against it since. */
  async function permit(path: string, content: string, signal: AbortSignal): Promise<void> {
    const covered = allowed.get(path)
    if (covered && !person.forbids(covered)) return
    const before = await textOf(path)
    const near = relative(folders[0] ?? '', path)
    const change = before === undefined ? { content } : { patch: patchOf(before, content) }
    const ask: PermissionAsk = {
      tool: covered?.tool ?? 'write_text_file',
      kind: 'edit',
      title: `Write ${near.startsWith('..') ? path : near}`,
      input: { path, ...change },
      diff:
        before === undefined ? { path, before: null, after: content } : { path, patch: change.patch ?? '' },
    }
    const answer = await person.permit(ask, signal)
    if (answer.outcome === 'allowed') return
    const why = answer.outcome === 'denied' ? answer.message : undefined
    throw new RequestError(-32603, why ?? 'The person did not allow this file to be written.')
  }

  return {
    async read(params) {
      const { path, line, limit } = params as { path: string; line?: number | null; limit?: number | null }
      const text = await readText(await placeOf(path, folders))
      if (!line && !limit) return { content: text }
      const start = Math.max(0, (line ?? 1) - 1)
      const lines = text.split('\n')
      return { content: lines.slice(start, limit ? start + limit : undefined).join('\n') }
    },
    async write(params, signal) {
      const { path, content } = params as { path: string; content: string }
      if (typeof content !== 'string') throw RequestError.invalidParams(undefined, 'content must be a string')
      const place = await placeOf(path, folders)
      await permit(place, content, signal)
      await writeText(await placeOf(path, folders), content)
      return {}
    },
    async allow(ask, paths) {
      for (const path of paths) {
        const place = await placeOf(path, folders).catch(() => undefined)
        if (place !== undefined) allowed.set(place, ask)
      }
    },
    forget: () => allowed.clear(),
  }
}

/** Where a path really leads, through every link; refused if that is outside the folders. The file need not be there. */
async function placeOf(path: unknown, folders: readonly string[]): Promise<string> {
  if (typeof path !== 'string' || !isAbsolute(path))
    throw RequestError.invalidParams(undefined, 'path must be a whole path')
  const place = await realPlace(resolve(path))
  const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)))
  const inside = roots.some((root) => root !== undefined && (place === root || place.startsWith(root + sep)))
  if (!inside) throw RequestError.invalidParams(undefined, `${path} is outside the folders of this session`)
  return place
}

async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // A link that leads nowhere would be followed when the file is made.
    if (await lstat(path).catch(() => undefined))
      throw RequestError.invalidParams(undefined, `${path} is a broken link`)
    const parent = dirname(path)
    return parent === path ? path : join(await realPlace(parent), basename(path))
  }
}

async function readText(place: string): Promise<string> {
  const file = await open(place, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? RequestError.resourceNotFound(place) : error
    },
  )
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw RequestError.invalidParams(undefined, `${place} is not a file`)
    if (stats.size > largestFile)
      throw RequestError.invalidParams(undefined, `${place} is too large to be read`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function textOf(place: string): Promise<string | undefined> {
  try {
    return await readText(place)
  } catch {
    return undefined
  }
}

async function writeText(place: string, content: string): Promise<void> {
  await mkdir(dirname(place), { recursive: true })
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(place, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK)
  try {
    await file.writeFile(content)
  } finally {
    await file.close()
  }
}
