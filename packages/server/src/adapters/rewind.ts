import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, unlink } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { messageOf, ParleyError, type PromptPart } from '@parley/protocol'
import type { AgentOutput } from '../core/agent-adapter.ts'
import type { Session } from './file-diff.ts'
import { isInsideFolders, placeOrNone } from './inside-folder.ts'

/** The request of `session.rewind`: to restore the files as they were before a prompt, or to undo that rewind. */
export type RewindRequest = { readonly promptId: string; readonly undo: boolean }

export function rewindRequest([part, ...others]: readonly PromptPart[]): RewindRequest | undefined {
  if (part?.type !== 'command' || part.name !== 'rewind' || others.length > 0) return undefined
  const [first = '', second] = (part.arguments ?? '').split(' ')
  return first === 'undo' ? { promptId: second ?? '', undo: true } : { promptId: first, undo: false }
}

type Place = { readonly path: string; readonly place: string }
type Content = { readonly bytes: Buffer; readonly mode: number } | null
type Kept = Place & { readonly before: Content; after?: string }
type Rewind = { readonly promptId: string; readonly session: Session; files: readonly Kept[] }

const maxKeptBytes = 32 * 1024 * 1024

/**
 * Stores in memory, for each session, the files as they were before its last rewind. The rewind can be undone until the
 * server stops, the session rewinds again, or one of the files changes.
 */
export type RewindKeeper = ReturnType<typeof createRewindKeeper>

export function createRewindKeeper() {
  const rewinds = new Map<string, Rewind>()

  /** Stores the current content of `files`, then runs `work`, which rewinds them. */
  async function rewind(
    { sessionId, ...session }: Session & { readonly sessionId: string },
    { promptId, files }: { readonly promptId: string; readonly files: readonly string[] },
    work: () => Promise<void>,
  ): Promise<void> {
    rewinds.delete(sessionId)
    const kept = await keep(files, session)
    await work()
    if (!kept) return
    for (const file of kept) file.after = hashOf(await contentOf(file.place))
    rewinds.set(sessionId, { promptId, session, files: kept })
    for (const id of rewinds.keys()) {
      if (sizeOf([...rewinds.values()].flatMap((one) => one.files)) <= maxKeptBytes) break
      if (id !== sessionId) rewinds.delete(id)
    }
  }

  /** Writes the stored files back. If a file was changed after the rewind, rejects without writing anything. */
  async function undo(sessionId: string, promptId: string): Promise<string[]> {
    const kept = rewinds.get(sessionId)
    if (kept?.promptId !== promptId) throw conflict('the earlier contents of the files are no longer known.')
    const { files, session } = kept
    for (const { path, place, after } of files) {
      const now = placeIn(session, path)
      if (now !== place || hashOf(await contentOf(place)) !== after)
        throw conflict(`${relative(session.cwd, place)} has changed since the restore.`)
    }
    rewinds.delete(sessionId)
    for (const { place, before } of files) await write(place, before)
    return files.map(({ path }) => path)
  }

  return { rewind, undo }
}

/**
 * Reads the files to store. Returns undefined if one of them cannot be stored: a rewind is undone completely or not at
 * all.
 */
async function keep(files: readonly string[], session: Session): Promise<readonly Kept[] | undefined> {
  const kept: Kept[] = []
  try {
    for (const path of files) {
      const place = placeIn(session, path)
      if (place === undefined) return undefined
      kept.push({ path, place, before: await contentOf(place) })
      if (sizeOf(kept) > maxKeptBytes) return undefined
    }
    return kept
  } catch {
    return undefined
  }
}

function sizeOf(files: readonly Kept[]): number {
  return files.reduce((sum, { before }) => sum + (before?.bytes.length ?? 0), 0)
}

function placeIn({ cwd, settings }: Session, path: string): string | undefined {
  if (!isInsideFolders(path, cwd, settings.options?.directories)) return undefined
  return placeOrNone(resolve(cwd, path))
}

/** The content of a file; null if it does not exist. Rejects if it is not a regular file, or too large to be stored. */
async function contentOf(place: string): Promise<Content> {
  try {
    await using file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${place} is not a regular file, so it cannot be restored`)
    if (stat.size > maxKeptBytes) throw new Error(`${place} is too large to be restored`)
    return { bytes: await file.readFile(), mode: stat.mode & 0o777 }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function write(place: string, content: Content): Promise<void> {
  if (content === null) return unlink(place)
  await mkdir(dirname(place), { recursive: true })
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  await using file = await open(place, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, content.mode)
  await file.writeFile(content.bytes)
}

function hashOf(content: Content): string {
  return content === null ? 'none' : createHash('sha256').update(content.bytes).digest('hex')
}

function conflict(why: string): ParleyError {
  return new ParleyError('conflict', why)
}

/** Runs `work`, which is a rewind or its undo, and returns the end of its turn. */
export async function rewindTurn(
  { undo }: RewindRequest,
  work: () => Promise<readonly string[]>,
): Promise<AgentOutput> {
  try {
    const files = await work()
    const stopReason = undo ? 'rewind_undone' : 'rewound'
    return { type: 'turn.ended', outcome: 'completed', stopReason, result: resultText(files, undo) }
  } catch (thrown) {
    const what = undo
      ? 'The restore cannot be undone'
      : 'The files cannot be restored to their state before that prompt'
    const error = { code: 'conflict' as const, message: `${what}: ${messageOf(thrown)}` }
    return { type: 'turn.ended', outcome: 'failed', stopReason: undo ? 'not_undone' : 'not_rewound', error }
  }
}

function resultText(files: readonly string[], undo: boolean): string {
  if (undo) return `Undone. These files are as they were before the restore: ${files.join(', ')}`
  if (files.length === 0) return 'No file had changed since that prompt.'
  return `Files restored to their state before that prompt: ${files.join(', ')}`
}
