import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isAskAgain } from '@parley/adapter-kit'
import { isRecord, type PromptPart } from '@parley/protocol'
import { configFolder } from './settings.ts'

/**
 * The folder of Claude Code's transcripts, the files in which it stores conversations. There is a subfolder for each
 * working directory.
 */
export function projectsFolder(env: Readonly<Record<string, string>>): string {
  return join(configFolder(env), 'projects')
}

/**
 * The agent's own transcript of a conversation, or undefined if there is none. The agent writes in batches: if it is
 * killed right after it received a prompt, the transcript may lack the prompt.
 */
export function readTranscript(
  env: Readonly<Record<string, string>>,
  agentSessionId: string,
): string | undefined {
  try {
    return readFileSync(transcriptFile(env, agentSessionId) ?? '', 'utf8')
  } catch {
    return undefined
  }
}

function transcriptFile(env: Readonly<Record<string, string>>, agentSessionId: string): string | undefined {
  const projects = projectsFolder(env)
  return foldersIn(projects)
    .map((folder) => join(projects, folder, `${agentSessionId}.jsonl`))
    .find((file) => existsSync(file))
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** The part of a transcript before a prompt. */
export type CutTranscript = {
  readonly text: string
  /** The uuid of the message that the prompt follows; undefined if the conversation begins with the prompt. */
  readonly last: string | undefined
  /** True if the conversation was compacted after the prompt. */
  readonly isCompacted: boolean
}

/** Cuts a transcript before the first of these prompts that it contains. Undefined if it contains none of them. */
export function cutBefore(transcript: string, prompts: readonly string[]): CutTranscript | undefined {
  const lines = transcript.split('\n')
  const index = lines.findIndex(
    (line) =>
      prompts.some((id) => line.includes(id)) && entryOf(line).some((entry) => isOneOf(prompts, entry)),
  )
  const [entry] = entryOf(lines[index] ?? '')
  if (!entry) return undefined
  const { parentUuid, logicalParentUuid } = entry
  const isSummary = (line: string) =>
    line.includes('isCompactSummary') && entryOf(line)[0]?.isCompactSummary === true
  const isCompacted = lines.slice(index).some(isSummary)
  return { text: lines.slice(0, index).join('\n'), last: parentUuid ?? logicalParentUuid, isCompacted }
}

function isOneOf(prompts: readonly string[], entry: Entry): boolean {
  const { id } = idOfPrompt(entry)
  return id !== undefined && prompts.includes(id)
}

/** The uuids of all messages in a transcript, in order. */
export function uuidsIn(transcript: string | undefined): string[] {
  return [...(transcript ?? '').matchAll(/"uuid":"([^"]+)"/g)].flatMap(([, uuid]) => uuid ?? [])
}

/** The agent's id of a deferred call that has no result yet. */
export function deferredCall(transcript: string | undefined): string | undefined {
  if (transcript === undefined) return undefined
  const marker = [...transcript.matchAll(/"type":"hook_deferred_tool","toolUseID":"([^"]+)"/g)].at(-1)
  if (!marker) return undefined
  const id = marker[1]
  return transcript.slice(marker.index).includes(`"tool_use_id":"${id}"`) ? undefined : id
}

/**
 * Detects whether another program writes to a conversation that our process holds. The shared transcript then
 * contains a prompt that was never sent to our process. Each check reads only the new part of the transcript.
 */
export class TranscriptWatch {
  readonly #env: Readonly<Record<string, string>>
  readonly #own = new Set<string>()
  #file: string | undefined
  #sessionId: string | undefined
  /** The number of bytes of the file that were read. */
  #read = 0
  #hasForeign = false
  /** True if a prompt of ours was seen in the file, or the conversation was resumed. */
  #isBegun = true

  /**
   * `before` is the transcript at the start of the process. A resumed process has read it, so only later
   * entries are checked.
   */
  constructor(
    env: Readonly<Record<string, string>>,
    before: string | undefined,
    resumed: string | undefined,
  ) {
    this.#env = env
    this.#read = Buffer.byteLength(before ?? '')
    this.#sessionId = resumed
  }

  /** Registers a prompt that is sent to our process. */
  promptSent(uuid: string): void {
    this.#own.add(uuid)
  }

  async hasForeignPrompts(sessionId: string | undefined): Promise<boolean> {
    if (sessionId === undefined || this.#hasForeign) return this.#hasForeign
    if (sessionId !== this.#sessionId) {
      this.#sessionId = sessionId
      this.#file = undefined
      this.#read = 0
      this.#isBegun = false
    }
    const entries = (await this.#newLines(sessionId)).flatMap(entryOf)
    // A forked conversation begins with the content of the original, so everything before our first prompt is skipped.
    const first = this.#isBegun ? 0 : entries.findIndex(({ uuid }) => this.#own.has(uuid ?? ''))
    if (first < 0) return false
    this.#isBegun = true
    this.#hasForeign = entries.slice(first).some((entry) => {
      const parts = promptOf(entry)
      return parts !== undefined && !isAskedAgain(parts) && !this.#own.has(idOfPrompt(entry).id ?? '')
    })
    return this.#hasForeign
  }

  async #newLines(sessionId: string): Promise<string[]> {
    this.#file ??= transcriptFile(this.#env, sessionId)
    if (this.#file === undefined) return []
    const { size } = await stat(this.#file)
    if (size <= this.#read) return []
    await using handle = await open(this.#file)
    const { buffer } = await handle.read({ buffer: Buffer.alloc(size - this.#read), position: this.#read })
    const end = buffer.lastIndexOf(0x0a) + 1
    this.#read += end
    return buffer.toString('utf8', 0, end).split('\n')
  }
}

export type Entry = {
  readonly type?: string
  readonly uuid?: string
  readonly parentUuid?: string | null
  readonly logicalParentUuid?: string
  readonly timestamp?: string
  readonly cwd?: string
  readonly isSidechain?: boolean
  readonly isMeta?: boolean
  readonly isCompactSummary?: boolean
  readonly customTitle?: string
  readonly aiTitle?: string
  readonly summary?: string
  readonly sessionId?: string
  readonly toolUseResult?: unknown
  readonly message?: { readonly id?: string; readonly role?: string; readonly content?: unknown }
  /** The note to the model in which a steered prompt is stored. */
  readonly attachment?: {
    readonly type?: string
    readonly commandMode?: string
    readonly prompt?: unknown
    readonly source_uuid?: string
  }
}

/** Parses a line. Returns an empty array if the line is cut off or damaged. */
export function entryOf(line: string): Entry[] {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? [value as Entry] : []
  } catch {
    return []
  }
}

export function isOfMainLine({ type, isSidechain, isMeta, message }: Entry): boolean {
  return (type === 'assistant' || type === 'user') && message !== undefined && !isSidechain && !isMeta
}

type NativePart = {
  readonly type?: string
  readonly text?: string
  readonly source?: { readonly media_type?: string; readonly data?: string }
}

/**
 * Matches text that the program itself writes but stores as a message of the person: commands and their output,
 * interruptions, reminders.
 */
const ofProgram = /^\s*(<(command|local-command|bash|system|task)-|\[Request interrupted|Caveat: )/

/** True for the prompt by which Parley resumes an agent after a restart. */
export function isAskedAgain(parts: readonly PromptPart[]): boolean {
  return parts.some((part) => part.type === 'text' && isAskAgain(part.text))
}

/** The prompt in an entry; undefined for any other entry. */
export function promptOf(entry: Entry): PromptPart[] | undefined {
  const said = promptContent(entry)
  const content = typeof said === 'string' ? [{ type: 'text', text: said }] : said
  if (!Array.isArray(content)) return undefined
  const parts = (content as readonly NativePart[]).flatMap(promptPart)
  return parts.length > 0 ? parts : undefined
}

/** The id with which a prompt was sent to the agent, if known. */
export function idOfPrompt({ uuid, attachment }: Entry): { id?: string } {
  const id = attachment?.source_uuid ?? uuid
  return id === undefined ? {} : { id }
}

function promptContent(entry: Entry): unknown {
  const { type, message, isCompactSummary, isSidechain, attachment } = entry
  const isQueued = attachment?.type === 'queued_command' && attachment.commandMode === 'prompt'
  if (type === 'attachment') return isQueued && !isSidechain ? attachment.prompt : undefined
  return type === 'user' && !isCompactSummary && isOfMainLine(entry) ? message?.content : undefined
}

function promptPart({ type, text, source }: NativePart): PromptPart[] {
  if (type === 'text' && text && !ofProgram.test(text)) return [{ type: 'text', text }]
  if (type !== 'image' || !source?.data) return []
  return [{ type: 'image', mimeType: source.media_type ?? 'image/png', data: source.data }]
}
