import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk/unstable'
import type { PermissionAsk, Person } from '@parley/adapter-kit'
import { isInsideFolders, reachOf, realPlace } from '@parley/adapter-kit/inside-folder'
import { compareTexts, patchText } from '@parley/protocol/diff'

const largestFile = 32 * 1024 * 1024

/**
 * The file methods that the host offers to an agent. They access only files in the session's folders, and write no
 * change without permission.
 */
export type FileMethods = {
  read(params: unknown, signal: AbortSignal): Promise<{ content: string }>
  write(params: unknown, signal: AbortSignal): Promise<Record<string, never>>
  /** Records the permission of this call. While the call runs, each of its changes may be written once. */
  allow(ask: PermissionAsk, changes: readonly Change[]): Promise<void>
  /** Drops all approvals, at the start of a new turn. */
  forget(): void
}

export type OpenCall = { readonly ask: PermissionAsk; readonly paths: readonly string[] }

type Approval = { readonly ask: PermissionAsk; readonly place: string; readonly change: Change }

export function createFileMethods(options: {
  folders: readonly string[]
  person: Person
  calls: () => readonly OpenCall[]
}): FileMethods {
  const { folders, person, calls } = options
  const [cwd = '', ...directories] = folders
  let approvals: readonly Approval[] = []

  const placeOrNone = (path: string) => placeOf(path, folders).catch(() => undefined)
  const shown = (place: string) => {
    const near = relative(cwd, place)
    return near.startsWith('..') ? place : near
  }

  async function callsOn(place: string): Promise<readonly PermissionAsk[]> {
    const found = calls().map(async ({ ask, paths }) => {
      const places = await Promise.all(paths.map(placeOrNone))
      return places.includes(place) ? [ask] : []
    })
    return (await Promise.all(found)).flat()
  }

  /**
   * Denies reading the file if a rule for this method, or for a running call on the file, forbids it. Otherwise reading
   * needs no permission.
   */
  async function permitReading(path: string, place: string, signal: AbortSignal): Promise<void> {
    const about = { tool: 'read_text_file', kind: 'read', title: `Read ${shown(place)}` } as const
    const asked = [...new Set([place, path])].map((one) => ({ ...about, input: { path: one } }))
    const refused = [...asked, ...(await callsOn(place))].find((ask) => person.forbids(ask))
    if (refused) await permit(person, refused, signal)
  }

  /**
   * Asks for permission, unless the write matches a change of a running call that was allowed. Even then, a rule can
   * deny the write.
   */
  async function permitWriting(place: string, content: string, signal: AbortSignal): Promise<void> {
    const before = await textOf(place)
    const own: PermissionAsk = {
      ...writeAsk(place, { before, content }),
      title: `Write ${shown(place)}`,
      ...reachOf('edit', [place], { cwd, settings: { options: { directories } } }),
    }
    const covered = takeApproval(place, { before, content })
    const refused = [own, ...(covered ? [covered] : [])].find((ask) => person.forbids(ask))
    if (refused) return permit(person, refused, signal)
    if (covered) return
    const [call] = (await callsOn(place)).filter(({ kind }) => changing.has(kind))
    await permit(person, call ? { ...own, tool: call.tool } : own, signal)
  }

  function takeApproval(place: string, written: Written): PermissionAsk | undefined {
    const open = new Set(calls().map(({ ask }) => ask.toolCallId))
    const found = approvals.find(
      (one) => one.place === place && open.has(one.ask.toolCallId) && isApproved(one.change, written),
    )
    approvals = approvals.filter((one) => one !== found)
    return found?.ask
  }

  return {
    async read(params, signal) {
      const { path, line, limit } = params as { path: string; line?: number | null; limit?: number | null }
      const place = await placeOf(path, folders)
      await permitReading(path, place, signal)
      return { content: linesOf(await readText(place), line, limit) }
    },
    async write(params, signal) {
      const { path, content } = params as { path: string; content: string }
      if (typeof content !== 'string') throw RequestError.invalidParams(undefined, 'content must be a string')
      const place = await placeOf(path, folders)
      await permitWriting(place, content, signal)
      if ((await placeOf(path, folders)) !== place)
        throw RequestError.invalidParams(undefined, `${path} resolves to another file now`)
      await writeText(place, content)
      return {}
    },
    async allow(ask, changes) {
      if (!changing.has(ask.kind)) return
      for (const change of changes) {
        const place = await placeOrNone(resolve(cwd, change.path))
        if (place !== undefined) approvals = [...approvals, { ask, place, change }]
      }
    },
    forget() {
      approvals = []
    },
  }
}

/** At most `limit` lines, starting with number `line`, counted from 1. */
function linesOf(text: string, line: number | null | undefined, limit: number | null | undefined): string {
  if (!line && !limit) return text
  const start = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(start, limit ? start + limit : undefined)
    .join('\n')
}

async function permit(person: Person, ask: PermissionAsk, signal: AbortSignal): Promise<void> {
  const answer = await person.permit(ask, signal)
  if (answer.outcome === 'allowed') return
  const why = answer.outcome === 'denied' ? answer.message : undefined
  throw new RequestError(-32603, why ?? `This is not allowed: ${ask.title}.`)
}

function writeAsk(place: string, { before, content }: Written) {
  const about = { tool: 'write_text_file', kind: 'edit' } as const
  if (before === undefined)
    return {
      ...about,
      input: { path: place, content },
      diffs: [{ path: place, before: null, after: content }],
    }
  const patch = patchText(compareTexts(before, content))
  return { ...about, input: { path: place, patch }, diffs: [{ path: place, patch }] }
}

const changing: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** Resolves all symbolic links in a path; the file need not exist. Throws if the result is outside the folders. */
async function placeOf(path: unknown, [cwd = '', ...directories]: readonly string[]): Promise<string> {
  if (typeof path !== 'string' || !isAbsolute(path))
    throw RequestError.invalidParams(undefined, 'path must be absolute')
  if (!isInsideFolders(path, cwd, directories))
    throw RequestError.invalidParams(undefined, `${path} is outside the folders of this session`)
  return realPlace(resolve(path))
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

/** A change of a file, as a call describes it. Fields that the call does not give are absent. */
export type Change = {
  readonly path: string
  readonly oldText?: string | null | undefined
  readonly newText?: string | undefined
  /** The input that was shown to a person, if the call has neither an old nor a new text. */
  readonly input?: unknown
}

export type Written = { readonly before: string | undefined; readonly content: string }

/** True if the written content equals the content that was shown to a person: the whole file, or its changed part. */
export function isApproved({ oldText, newText, input }: Change, written: Written): boolean {
  if (newText === undefined) return isInInput(input, written)
  return newText === written.content || isReplaced(oldText, newText, written)
}

const whole = /^(content|contents|text|file_?text|new_?text|new_?content)$/i
const before = /^old_?(string|str|text)$/i
const after = /^new_?(string|str|text)$/i

/**
 * Compares the written content with the fields of an input: the whole text, or the old and the new text. Returns false
 * if the input has neither.
 */
function isInInput(input: unknown, written: Written): boolean {
  if (typeof input !== 'object' || input === null) return false
  const fields = Object.entries(input)
  const textOf = (name: RegExp) => {
    const value = fields.find(([field]) => name.test(field))?.[1]
    return typeof value === 'string' ? value : undefined
  }
  const newText = textOf(after)
  if (newText !== undefined && isReplaced(textOf(before), newText, written)) return true
  return fields.some(([name, value]) => whole.test(name) && value === written.content)
}

function isReplaced(oldText: string | null | undefined, newText: string, written: Written): boolean {
  const { before: text = '', content } = written
  if (!oldText) return false
  const at = text.indexOf(oldText)
  return at >= 0 && text.slice(0, at) + newText + text.slice(at + oldText.length) === content
}
