import { type AgentConversation, messageOf, ParleyError } from '@parley/protocol'
import type { AgentMemory, Remembered } from '../../core/agent-adapter.ts'
import { JsonRpcError } from '../json-rpc.ts'
import { unlessAborted } from '../within.ts'
import type { AppServer } from './app-server.ts'
import type { Lease } from './app-server-pool.ts'
import type { NativeItem, NativeTurn } from './native.ts'
import { promptOf } from './remembered-prompt.ts'
import { translate } from './translate.ts'
import { initialState, type TranslateState, withTurn } from './translate-state.ts'

/** Codex's memory, as its own program reports it. No thread is loaded, and no turn runs. */
export function codexMemory(acquire: (signal: AbortSignal) => Promise<Lease>): AgentMemory {
  return {
    async list({ cwd }, signal) {
      const { server, release } = await acquire(signal)
      const query = { limit: 100, sourceKinds, modelProviders: [], ...(cwd !== undefined && { cwd }) }
      try {
        const found: AgentConversation[] = []
        for await (const thread of pages<StoredThread>(server, ['thread/list', query], signal))
          found.push(...conversationOf(thread))
        return found
      } catch (error) {
        throw cannotTell('of its conversations', error)
      } finally {
        await release()
      }
    },
    async *read(agentSessionId, signal) {
      const { server, release } = await acquire(signal)
      try {
        const about = server.call<{ thread: StoredThread }>('thread/read', { threadId: agentSessionId })
        const { thread } = await asked(about, signal)
        yield* remembered(server, thread, signal)
      } catch (error) {
        throw cannotTell(`of the conversation ${agentSessionId}`, error)
      } finally {
        await release()
      }
    },
  }
}

/** Codex responds with an error if there is nothing to read, and not at all if it has ended. */
function cannotTell(what: string, error: unknown): ParleyError {
  if (error instanceof ParleyError) return error
  const why = messageOf(error)
  const code = error instanceof JsonRpcError ? 'not_found' : 'agent_failed'
  return new ParleyError(code, `Codex cannot tell ${what}: ${why}`, { cause: error })
}

/**
 * The sources of conversations that people start. The other sources are those of subagents; archived conversations are
 * listed only on request.
 */
const sourceKinds = ['cli', 'vscode', 'exec', 'appServer', 'unknown']

type StoredThread = {
  readonly id: string
  readonly parentThreadId: string | null
  readonly ephemeral: boolean
  readonly name: string | null
  readonly preview: string
  readonly cwd: string
  /** In seconds, like all times of threads and turns. */
  readonly createdAt: number
  readonly updatedAt: number
}
type StoredTurn = NativeTurn & {
  readonly items: readonly StoredItem[]
  readonly startedAt?: number | null
  readonly completedAt?: number | null
}
type StoredItem = NativeItem & {
  readonly startedAtMs?: number | null
  readonly completedAtMs?: number | null
}

const titleLength = 80

/** Leaves out a thread without any message. */
function conversationOf(thread: StoredThread): AgentConversation[] {
  const { id, parentThreadId, ephemeral, name, preview, cwd, updatedAt } = thread
  const title = (name || preview).replace(/\s+/g, ' ').trim().slice(0, titleLength)
  if (title === '' || ephemeral || parentThreadId !== null) return []
  return [{ agentSessionId: id, cwd, title, updatedAt: updatedAt * 1000 }]
}

async function* remembered(
  server: AppServer,
  thread: StoredThread,
  signal: AbortSignal,
): AsyncGenerator<Remembered> {
  const teller = new Teller(thread)
  // A page is one message of the program, and a turn may be large.
  const query = { threadId: thread.id, limit: 10, sortDirection: 'asc', itemsView: 'full' }
  for await (const turn of pages<StoredTurn>(server, ['thread/turns/list', query], signal)) {
    for (const [index, item] of turn.items.entries()) {
      yield* item.type === 'userMessage'
        ? teller.prompt(item, await promptOf(item), promptIdIn(turn, index))
        : teller.item(item, turn)
      for (const threadId of teller.newSubagents())
        yield* teller.subagent(threadId, await lastTurn(server, threadId, signal))
    }
    yield* teller.end(turn)
  }
  yield* teller.farewell()
}

/**
 * A prompt from Parley has our id. Messages steered into its turn get it too, even those from Parley: the reason of a
 * refusal is sent without an id. Item ids differ from read to read; turn ids do not.
 */
function promptIdIn({ id, items }: StoredTurn, index: number): string {
  const clientId = (item: StoredItem | undefined) =>
    item?.type === 'userMessage' ? (item.clientId ?? undefined) : undefined
  const first = items.find(({ type }) => type === 'userMessage')
  return clientId(items[index]) ?? clientId(first) ?? `${id}:${index}`
}

/** For a subagent, only its last message and its outcome are read. A subagent that cannot be read counts as ended. */
async function lastTurn(server: AppServer, threadId: string, signal: AbortSignal): Promise<StoredTurn> {
  const query = { threadId, limit: 1, itemsView: 'summary' }
  const page = server.call<Page<StoredTurn>>('thread/turns/list', query)
  const { data } = await asked(page, signal).catch((error: unknown): Page<StoredTurn> => {
    if (error instanceof JsonRpcError) return { data: [], nextCursor: null }
    throw error
  })
  return data[0] ?? { id: threadId, status: 'interrupted', items: [] }
}

/** Converts a stored conversation to live messages and translates those. */
class Teller {
  readonly #threadId: string
  readonly #known = new Set<string>()
  #state: TranslateState
  /** Never decreases: turns have times in seconds, items have finer ones. */
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
    yield* this.#tell(methodOf(item), { threadId: this.#threadId, item })
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
      yield* this.#tell('item/completed', { threadId, item: apart })
    }
    const status = turn.status === 'inProgress' ? 'interrupted' : turn.status
    yield* this.#tell('turn/completed', { threadId, turn: { ...turn, status } })
  }

  *end(turn: StoredTurn): Generator<Remembered> {
    this.#pass(seconds(turn.completedAt))
    yield* this.#tell('turn/completed', { threadId: this.#threadId, turn })
  }

  /** Background tasks that were left running did not outlive the program. */
  *farewell(): Generator<Remembered> {
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

  *#tell(method: string, params: object): Generator<Remembered> {
    const { state, outputs } = translate(this.#state, { method, params })
    this.#state = state
    for (const output of outputs) yield { type: 'output', at: this.#at, output }
  }

  #pass(...times: readonly (number | null | undefined)[]): void {
    this.#at = Math.max(this.#at, ...times.map((time) => time ?? 0))
  }
}

/** A call that was interrupted has no end: the end of its turn stands for it. */
function methodOf(item: StoredItem): string {
  return 'status' in item && item.status === 'inProgress' ? 'item/started' : 'item/completed'
}

function seconds(time: number | null | undefined): number {
  return (time ?? 0) * 1000
}

type Page<Entry> = { readonly data: readonly Entry[]; readonly nextCursor: string | null }

async function* pages<Entry>(
  server: AppServer,
  [method, query]: readonly [string, object],
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  let cursor: string | null = null
  do {
    const params: object = { ...query, ...(cursor !== null && { cursor }) }
    const page: Page<Entry> = await asked(server.call<Page<Entry>>(method, params), signal)
    yield* page.data
    cursor = page.nextCursor
  } while (cursor !== null)
}

function asked<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessAborted(work, signal, 'Cancelled while Codex told of its conversations.')
}
