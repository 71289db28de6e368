import { createReadStream } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AgentMemory, Remembered } from '@parley/adapter-kit'
import { type AgentConversation, ParleyError } from '@parley/protocol'
import { promptUuid } from './prompt.ts'
import {
  type Entry,
  entryOf,
  idOfPrompt,
  isAskedAgain,
  isOfMainLine,
  projectsFolder,
  promptOf,
} from './transcript.ts'
import { initialState, translate } from './translate.ts'
import { withTurn } from './translate-state.ts'

/** The memory of Claude Code: one file per conversation, one line per entry. */
export function claudeMemory(env: Readonly<Record<string, string>>): AgentMemory {
  const projects = projectsFolder(env)
  return {
    async list({ cwd }, signal) {
      const found: AgentConversation[] = []
      for (const file of await transcriptFiles(projects)) {
        signal.throwIfAborted()
        const one = await conversationIn(file).catch(() => undefined)
        if (one && (cwd === undefined || one.cwd === cwd)) found.push(one)
      }
      return found
    },
    async *read(agentSessionId, signal) {
      const file = (await transcriptFiles(projects)).find((path) => path.endsWith(`/${agentSessionId}.jsonl`))
      if (!file) throw new ParleyError('not_found', `Claude has no conversation ${agentSessionId}.`)
      yield* remembered(file, signal)
    },
    idOf: (_agentSessionId, promptId) => promptUuid(promptId),
  }
}

async function transcriptFiles(projects: string): Promise<string[]> {
  const folders = await readdir(projects).catch(() => [])
  const files = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(projects, folder)).catch(() => [])
      return names.filter((name) => name.endsWith('.jsonl')).map((name) => join(projects, folder, name))
    }),
  )
  return files.flat()
}

const headBytes = 256 * 1024
const titleLength = 80

/** Reads the start of a transcript for the folder and the title. Undefined if the conversation has no prompt. */
async function conversationIn(file: string): Promise<AgentConversation | undefined> {
  const { mtimeMs } = await stat(file)
  const entries = (await headOf(file)).split('\n').flatMap(entryOf)
  const prompt = entries.map(promptOf).find((parts) => parts !== undefined)
  const cwd = entries.find((entry) => entry.cwd !== undefined)?.cwd
  if (!prompt || cwd === undefined) return undefined
  const named = entries.findLast(({ customTitle, aiTitle, summary }) => customTitle ?? aiTitle ?? summary)
  const text = prompt.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
  const title = named?.customTitle ?? named?.aiTitle ?? named?.summary ?? text
  return {
    agentSessionId: file.slice(file.lastIndexOf('/') + 1, -'.jsonl'.length),
    cwd,
    title: title.replace(/\s+/g, ' ').trim().slice(0, titleLength),
    updatedAt: Math.round(mtimeMs),
  }
}

async function headOf(file: string): Promise<string> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(headBytes) })
  return buffer.toString('utf8', 0, bytesRead)
}

/**
 * Reads the conversation from a transcript, which is a tree: each time the person returns to an earlier prompt, a new
 * branch starts. The last branch is the conversation.
 */
async function lastBranch(file: string, signal: AbortSignal): Promise<Entry[]> {
  const entries: Entry[] = []
  const byUuid = new Map<string, Entry>()
  for await (const text of createInterface({ input: createReadStream(file, { signal }) })) {
    for (const entry of entryOf(text)) {
      if (entry.uuid === undefined || entry.isSidechain) continue
      entries.push(entry)
      byUuid.set(entry.uuid, entry)
    }
  }
  const line = new Set<Entry>()
  let one = entries.findLast(isOfMainLine)
  while (one && !line.has(one)) {
    line.add(one)
    one = byUuid.get(one.parentUuid ?? one.logicalParentUuid ?? '')
  }
  return entries.filter((entry) => line.has(entry) || belongsTo(line, entry))
}

type Blocks = readonly { readonly type?: string; readonly id?: string; readonly tool_use_id?: string }[]

/**
 * True if an entry outside the branch belongs to an answer in the branch: parallel calls and their results are
 * siblings in the tree.
 */
function belongsTo(line: ReadonlySet<Entry>, { message }: Entry): boolean {
  const results = blocksOf(message?.content).flatMap(({ tool_use_id }) => tool_use_id ?? [])
  return [...line].some(
    ({ message: other }) =>
      (message?.id !== undefined && message.id === other?.id) ||
      blocksOf(other?.content).some(({ id }) => id !== undefined && results.includes(id)),
  )
}

function blocksOf(content: unknown): Blocks {
  return Array.isArray(content) ? (content as Blocks) : []
}

async function* remembered(file: string, signal: AbortSignal): AsyncGenerator<Remembered> {
  let state = initialState({ resumed: true })
  let at = 0
  for (const entry of await lastBranch(file, signal)) {
    at = Date.parse(entry.timestamp ?? '') || at
    const parts = promptOf(entry)
    if (parts) {
      state = withTurn(state)
      const own = isAskedAgain(parts) ? { own: true as const } : {}
      yield { type: 'prompt', at, parts, ...idOfPrompt(entry), ...own }
    } else if (isOfMainLine(entry)) {
      const translated = translate(state, nativeMessage(entry))
      state = translated.state
      for (const output of translated.outputs) yield { type: 'output', at, output }
    }
  }
}

/** An entry in the form of the corresponding live message. */
function nativeMessage({ type, uuid, message, sessionId, toolUseResult }: Entry): unknown {
  return {
    type,
    uuid,
    message,
    session_id: sessionId,
    parent_tool_use_id: null,
    ...(toolUseResult !== undefined && { tool_use_result: toolUseResult }),
  }
}
