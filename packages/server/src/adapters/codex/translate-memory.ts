import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Remembered } from '@parley/adapter-kit'
import type { PromptPart } from '@parley/protocol'
import type { NativeItem, NativeTurn } from './native.ts'
import { translate } from './translate.ts'
import { initialState, type TranslateState, withTurn } from './translate-state.ts'
import { imageFrom } from './translate-tool-result.ts'

export type StoredThread = {
  readonly id: string
  readonly parentThreadId: string | null
  readonly ephemeral: boolean
  readonly name: string | null
  readonly preview: string
  readonly cwd: string
  /** The time in seconds, like all times of threads and turns. */
  readonly createdAt: number
  readonly updatedAt: number
}
export type StoredTurn = NativeTurn & {
  readonly items: readonly StoredItem[]
  readonly startedAt?: number | null
  readonly completedAt?: number | null
}
export type StoredItem = NativeItem & {
  readonly startedAtMs?: number | null
  readonly completedAtMs?: number | null
}

/** Converts a stored conversation to live messages and translates them. */
export class Replay {
  readonly #threadId: string
  readonly #known = new Set<string>()
  #state: TranslateState
  /**
   * The time of the last output. It never decreases, although turns have times in seconds and items have more precise
   * times.
   */
  #at: number

  constructor({ id, cwd, createdAt }: StoredThread) {
    this.#threadId = id
    this.#state = initialState({ threadId: id, cwd })
    this.#at = createdAt * 1000
  }

  *prompt(item: StoredItem, parts: Awaited<ReturnType<typeof promptOf>>, id: string): Generator<Remembered> {
    this.#pass(item.startedAtMs)
    if (parts.length > 0) yield { ...this.#begin(parts), id }
  }

  *item(item: StoredItem, { items, startedAt }: StoredTurn): Generator<Remembered> {
    this.#pass(item.startedAtMs, seconds(startedAt))
    const compacting = item.type === 'contextCompaction' && items[0] === item
    if (compacting) yield this.#begin([{ type: 'command', name: 'compact' }], compacting)
    yield* this.#translate(methodOf(item), { threadId: this.#threadId, item })
    this.#pass(item.completedAtMs)
  }

  *newSubagents(): Generator<string> {
    for (const threadId of this.#state.subagents.keys()) {
      if (this.#known.has(threadId)) continue
      this.#known.add(threadId)
      yield threadId
    }
  }

  *subagent(threadId: string, turn: StoredTurn): Generator<Remembered> {
    for (const item of turn.items.filter(({ type }) => type === 'agentMessage')) {
      // Item ids of old conversations are numbers that are unique only within a thread.
      const apart = { ...item, id: `${threadId}:${item.id}` }
      yield* this.#translate('item/completed', { threadId, item: apart })
    }
    const status = turn.status === 'inProgress' ? 'interrupted' : turn.status
    yield* this.#translate('turn/completed', { threadId, turn: { ...turn, status } })
  }

  *end(turn: StoredTurn): Generator<Remembered> {
    this.#pass(seconds(turn.completedAt))
    yield* this.#translate('turn/completed', { threadId: this.#threadId, turn })
  }

  /** Ends the background tasks that were left running: they did not outlive the program. */
  *endTasks(): Generator<Remembered> {
    for (const task of this.#state.background.values())
      yield { type: 'output', at: this.#at, output: { type: 'task.updated', ...task, status: 'stopped' } }
  }

  #begin(
    parts: Awaited<ReturnType<typeof promptOf>>,
    compacting = false,
  ): Extract<Remembered, { type: 'prompt' }> {
    this.#state = withTurn(this.#state, { compacting })
    return { type: 'prompt', at: this.#at, parts }
  }

  *#translate(method: string, params: object): Generator<Remembered> {
    const { state, outputs } = translate(this.#state, { method, params })
    this.#state = state
    for (const output of outputs) yield { type: 'output', at: this.#at, output }
  }

  #pass(...times: readonly (number | null | undefined)[]): void {
    this.#at = Math.max(this.#at, ...times.map((time) => time ?? 0))
  }
}

/**
 * The method of the live notification for a stored item. An interrupted call has no end of its own: it ends with its
 * turn.
 */
function methodOf(item: StoredItem): string {
  return 'status' in item && item.status === 'inProgress' ? 'item/started' : 'item/completed'
}

function seconds(time: number | null | undefined): number {
  return (time ?? 0) * 1000
}

/**
 * The id of a prompt: our own id if Parley sent it. A message without an id, such as the reason for a refusal that
 * Parley sends, gets the id of the first message of its turn. The last resort is the turn id with the index of the
 * message, since item ids differ from read to read.
 */
export function promptIdIn({ id, items }: StoredTurn, index: number): string {
  const clientId = (item: StoredItem | undefined) =>
    item?.type === 'userMessage' ? (item.clientId ?? undefined) : undefined
  const first = items.find(({ type }) => type === 'userMessage')
  return clientId(items[index]) ?? clientId(first) ?? `${id}:${index}`
}

/** An input of a person as Codex stores it: a text, or the name of an attachment. */
type StoredInput = {
  readonly type: string
  readonly text?: string
  readonly url?: string
  readonly path?: string
  readonly name?: string
}

const imageTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
}
const maxImageBytes = 20 * 1024 * 1024

/**
 * The prompt as it was sent. The text also names each skill, so a skill becomes a command only if the prompt has no
 * other part.
 */
export async function promptOf({ content }: { readonly content?: unknown }): Promise<PromptPart[]> {
  const inputs = (Array.isArray(content) ? content : []) as readonly StoredInput[]
  const parts = (await Promise.all(inputs.map(partsOf))).flat()
  if (parts.length > 0) return parts
  return inputs.flatMap(({ type, name }) =>
    type === 'skill' && name !== undefined ? [{ type: 'command', name }] : [],
  )
}

async function partsOf({ type, text, url, path }: StoredInput): Promise<PromptPart[]> {
  switch (type) {
    case 'text':
      return text ? [{ type: 'text', text }] : []
    case 'image':
      return [imageFrom(url) ?? named('image', url)]
    case 'localImage':
      return [(await imageAt(path ?? '')) ?? named('image', path)]
    case 'audio':
    case 'localAudio':
      return [named('audio', path)]
    default:
      return []
  }
}

/** The image, if the file still exists. */
async function imageAt(path: string): Promise<PromptPart | undefined> {
  const mimeType = imageTypes[extname(path).toLowerCase()]
  if (mimeType === undefined) return undefined
  try {
    if ((await stat(path)).size > maxImageBytes) return undefined
    return { type: 'image', mimeType, data: await readFile(path, 'base64') }
  } catch {
    return undefined
  }
}

function named(what: string, where: string | undefined): PromptPart {
  const known = where !== undefined && !where.startsWith('data:')
  return { type: 'text', text: known ? `[${what}: ${where}]` : `[${what}]` }
}
