import type { AgentMemory, Remembered } from '@parley/adapter-kit'
import { JsonRpcError } from '@parley/adapter-kit/json-rpc'
import { unlessAborted } from '@parley/adapter-kit/time-limit'
import { type AgentConversation, messageOf, ParleyError } from '@parley/protocol'
import type { AppServer } from './app-server.ts'
import type { Lease } from './app-server-pool.ts'
import { promptIdIn, promptOf, Replay, type StoredThread, type StoredTurn } from './translate-memory.ts'

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
        throw cannotRead('its conversations', error)
      } finally {
        await release()
      }
    },
    async *read(agentSessionId, signal) {
      const { server, release } = await acquire(signal)
      try {
        const about = server.call<{ thread: StoredThread }>('thread/read', { threadId: agentSessionId })
        const { thread } = await asked(about, signal)
        yield* replayConversation(server, thread, signal)
      } catch (error) {
        throw cannotRead(`the conversation ${agentSessionId}`, error)
      } finally {
        await release()
      }
    },
  }
}

/**
 * The error for data that Codex could not return. Codex responds with an error if there is nothing to read, and not
 * at all if its process has ended.
 */
function cannotRead(what: string, error: unknown): ParleyError {
  if (error instanceof ParleyError) return error
  const why = messageOf(error)
  const code = error instanceof JsonRpcError ? 'not_found' : 'agent_failed'
  return new ParleyError(code, `Codex cannot return ${what}: ${why}`, { cause: error })
}

/**
 * The sources of conversations that people start. The remaining sources are those of subagents. Archived
 * conversations are listed only on request.
 */
const sourceKinds = ['cli', 'vscode', 'exec', 'appServer', 'unknown']

const titleLength = 80

/** Returns an empty array for a thread without a message, an ephemeral thread, and the thread of a subagent. */
function conversationOf(thread: StoredThread): AgentConversation[] {
  const { id, parentThreadId, ephemeral, name, preview, cwd, updatedAt } = thread
  const title = (name || preview).replace(/\s+/g, ' ').trim().slice(0, titleLength)
  if (title === '' || ephemeral || parentThreadId !== null) return []
  return [{ agentSessionId: id, cwd, title, updatedAt: updatedAt * 1000 }]
}

async function* replayConversation(
  server: AppServer,
  thread: StoredThread,
  signal: AbortSignal,
): AsyncGenerator<Remembered> {
  const replay = new Replay(thread)
  // A small limit: a page arrives as one message, and a turn may be large.
  const query = { threadId: thread.id, limit: 10, sortDirection: 'asc', itemsView: 'full' }
  for await (const turn of pages<StoredTurn>(server, ['thread/turns/list', query], signal)) {
    for (const [index, item] of turn.items.entries()) {
      yield* item.type === 'userMessage'
        ? replay.prompt(item, await promptOf(item), promptIdIn(turn, index))
        : replay.item(item, turn)
      for (const threadId of replay.newSubagents())
        yield* replay.subagent(threadId, await lastTurn(server, threadId, signal))
    }
    yield* replay.end(turn)
  }
  yield* replay.endTasks()
}

/** Reads the last message and the outcome of a subagent. A subagent that cannot be read counts as ended. */
async function lastTurn(server: AppServer, threadId: string, signal: AbortSignal): Promise<StoredTurn> {
  const query = { threadId, limit: 1, itemsView: 'summary' }
  const page = server.call<Page<StoredTurn>>('thread/turns/list', query)
  const { data } = await asked(page, signal).catch((error: unknown): Page<StoredTurn> => {
    if (error instanceof JsonRpcError) return { data: [], nextCursor: null }
    throw error
  })
  return data[0] ?? { id: threadId, status: 'interrupted', items: [] }
}

type Page<Entry> = { readonly data: readonly Entry[]; readonly nextCursor: string | null }

/** The entries of a list that Codex returns in pages. */
export async function* pages<Entry>(
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
  return unlessAborted(work, signal, 'Cancelled while Codex listed its conversations.')
}
