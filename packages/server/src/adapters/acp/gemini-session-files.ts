import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { AgentConversation } from '@parley/protocol'

const namePattern = /^session-(\d{4}-\d\d-\d\dT\d\d-\d\d)-(.{8})\.jsonl?$/

type FileSearch = {
  /** The folder of Gemini's files, under the home folder. */
  readonly folder: string
  readonly home: string | undefined
  readonly sessionId: string
}

/**
 * Renames the files of a session to an earlier minute. Gemini names a file by the minute of its start and the
 * first characters of the session's id. If a session is loaded in that same minute, Gemini overwrites the
 * file and the history is lost.
 */
export function moveToEarlierMinute({ now, ...search }: FileSearch & { now: Date }): string[] {
  return filesOf(search).flatMap(({ chats, name, minute }) =>
    minute < minuteOf(now) ? [] : rename(chats, name, { minute, now }),
  )
}

/**
 * Removes the files of a session that contain no message of the person. Must be called before and after each
 * load: Gemini creates such a file whenever it loads a session, and if it finds one at the next load, it
 * deletes all files of the session.
 */
export function deleteEmptyFiles(search: FileSearch): string[] {
  return filesOf(search).flatMap(({ chats, name }) => {
    try {
      const lines = readFileSync(join(chats, name), 'utf8').split('\n').flatMap(lineOf)
      const isOfSession = lines.some((line) => line.sessionId === search.sessionId)
      if (!isOfSession || personMessages(lines).length > 0) return []
      rmSync(join(chats, name))
      return [name]
    } catch {
      return []
    }
  })
}

function filesOf({ folder, home = homedir(), sessionId }: FileSearch) {
  const root = join(home, folder)
  return namesIn(root).flatMap((project) => {
    const chats = join(root, project, 'chats')
    return namesIn(chats).flatMap((name) => {
      const [, minute, id] = namePattern.exec(name) ?? []
      return minute !== undefined && id === sessionId.slice(0, 8) ? [{ chats, name, minute }] : []
    })
  })
}

/**
 * The conversations in Gemini's files. Gemini has no method to list them. Conversations without a message of the
 * person are left out.
 */
export async function listGeminiSessions(options: {
  folder: string
  home: string | undefined
  signal: AbortSignal
}): Promise<AgentConversation[]> {
  const { folder, home = homedir(), signal } = options
  const root = join(home, folder)
  const found = new Map<string, AgentConversation>()
  for (const project of namesIn(root)) {
    const cwd = await readFile(join(root, project, '.project_root'), 'utf8').catch(() => '')
    const chats = join(root, project, 'chats')
    for (const name of cwd === '' ? [] : namesIn(chats)) {
      signal.throwIfAborted()
      if (!namePattern.test(name)) continue
      const one = await storedSession(join(chats, name), cwd.trim()).catch(() => undefined)
      const known = one && found.get(one.agentSessionId)
      if (one && !(known && known.updatedAt > one.updatedAt)) found.set(one.agentSessionId, one)
    }
  }
  return [...found.values()]
}

type StoredMessage = { readonly type?: string; readonly content?: readonly { readonly text?: string }[] }
type StoredLine = StoredMessage & {
  readonly sessionId?: string
  readonly kind?: string
  readonly $set?: { readonly messages?: readonly StoredMessage[] }
}

const titleLength = 80
/** Matches text that Gemini itself adds to the conversation in the role of the person. */
const ofProgram = /^\s*<session_context>/

async function storedSession(file: string, cwd: string): Promise<AgentConversation | undefined> {
  const [{ mtimeMs }, text] = await Promise.all([stat(file), readFile(file, 'utf8')])
  const lines = text.split('\n').flatMap(lineOf)
  const head = lines.find(({ sessionId }) => sessionId !== undefined)
  const [title] = personMessages(lines)
  if (head?.sessionId === undefined || title === undefined || (head.kind ?? 'main') !== 'main')
    return undefined
  const words = title.replace(/\s+/g, ' ').trim().slice(0, titleLength)
  return { agentSessionId: head.sessionId, cwd, title: words, updatedAt: Math.round(mtimeMs) }
}

/** The messages of the person, in order. */
function personMessages(lines: readonly StoredLine[]): string[] {
  const messages = lines.flatMap((line) => [line, ...(line.$set?.messages ?? [])])
  return messages.flatMap(({ type, content }) => {
    if (type !== 'user' || !Array.isArray(content)) return []
    return content.flatMap(({ text }) => (text && !ofProgram.test(text) ? [text] : []))
  })
}

/** Parses a line. Returns an empty array if the line is cut off or damaged. */
function lineOf(text: string): StoredLine[] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? [value] : []
  } catch {
    return []
  }
}

/** Renames the file to the latest earlier minute for which no file exists. */
function rename(chats: string, name: string, { minute, now }: { minute: string; now: Date }): string[] {
  const taken = new Set(namesIn(chats))
  for (let back = 1; back < 60; back++) {
    const older = name.replace(minute, minuteOf(new Date(now.getTime() - back * 60_000)))
    if (taken.has(older)) continue
    try {
      renameSync(join(chats, name), join(chats, older))
      return [older]
    } catch {
      return []
    }
  }
  return []
}

function minuteOf(date: Date): string {
  return date.toISOString().slice(0, 16).replace(':', '-')
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
