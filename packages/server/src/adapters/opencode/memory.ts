import type { GlobalSession, OpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { AgentMemory } from '@parley/adapter-kit'
import { unlessAborted } from '@parley/adapter-kit/time-limit'
import { type AgentConversation, ParleyError } from '@parley/protocol'
import { errorText, messageIdOf } from './native.ts'
import type { SharedServer } from './server.ts'
import { type KeptMessage, type KeptSession, replayConversation } from './translate-memory.ts'

/**
 * OpenCode's memory, as its own server reports it. The requests name no folder, so that the server loads no folder's
 * settings.
 */
export function opencodeMemory(acquire: (signal: AbortSignal) => Promise<SharedServer>): AgentMemory {
  return {
    async list({ cwd }, signal) {
      const { server, release } = await acquire(signal)
      try {
        return await asked(conversations(server.client(), cwd, signal), signal)
      } catch (error) {
        throw cannotRead('its conversations', error)
      } finally {
        await release()
      }
    },
    async *read(agentSessionId, signal) {
      const { server, release } = await acquire(signal)
      const client = server.client()
      try {
        const session = await asked(sessionBy(client, agentSessionId, signal), signal)
        yield* replayConversation(session, (id) => asked(messagesOf(client, id, signal), signal))
      } catch (error) {
        throw cannotRead(`the conversation ${agentSessionId}`, error)
      } finally {
        await release()
      }
    },
    idOf: messageIdOf,
  }
}

function cannotRead(what: string, error: unknown): ParleyError {
  if (error instanceof ParleyError) return error
  return new ParleyError('agent_failed', `OpenCode cannot return ${what}: ${errorText(error)}`, {
    cause: error,
  })
}

const listSize = 500

/**
 * The conversations that a person started. Pages are ordered by the time of the last change, which can be the same for
 * two conversations.
 */
async function conversations(
  client: OpencodeClient,
  cwd: string | undefined,
  signal: AbortSignal,
): Promise<AgentConversation[]> {
  const found = new Map<string, AgentConversation>()
  const seen = new Set<string>()
  for (let before: number | undefined; ; ) {
    const page = { roots: true, limit: listSize, ...(before !== undefined && { cursor: before + 1 }) }
    const { data } = await client.experimental.session.list(page, { throwOnError: true, signal })
    const fresh = data.filter(({ id }) => !seen.has(id))
    for (const session of fresh) {
      seen.add(session.id)
      if (cwd !== undefined && session.directory !== cwd) continue
      if (await isBegun(client, session, signal)) found.set(session.id, conversationOf(session))
    }
    before = data.at(-1)?.time.updated
    if (data.length < listSize || fresh.length === 0) return [...found.values()]
  }
}

function conversationOf({ id, directory, title, time }: GlobalSession): AgentConversation {
  return { agentSessionId: id, cwd: directory, title, updatedAt: time.updated }
}

/**
 * True if the session is not empty. A session that was created but never prompted is empty. The messages of a session
 * are requested only if it has no usage.
 */
async function isBegun(
  client: OpencodeClient,
  session: GlobalSession,
  signal: AbortSignal,
): Promise<boolean> {
  if (session.tokens && session.tokens.input + session.tokens.output > 0) return true
  const { data } = await client.session.messages({ sessionID: session.id, limit: 1 }, { signal })
  // If the messages cannot be read, the session counts as non-empty.
  return data === undefined || data.length > 0
}

async function sessionBy(
  client: OpencodeClient,
  sessionID: string,
  signal: AbortSignal,
): Promise<KeptSession> {
  const { data, error, response } = await client.session.get({ sessionID }, { signal })
  if (data) return data
  if (response?.status !== 404) throw error
  throw new ParleyError('not_found', `OpenCode has no conversation ${sessionID} on this machine.`)
}

const pageSize = 50

/** Reads from the newest message back, page by page. */
async function messagesOf(
  client: OpencodeClient,
  sessionID: string,
  signal: AbortSignal,
): Promise<KeptMessage[]> {
  const found: KeptMessage[] = []
  for (let before: string | undefined; ; ) {
    const page = { sessionID, limit: pageSize, ...(before !== undefined && { before }) }
    const { data, error, response } = await client.session.messages(page, { signal })
    if (!data) throw response?.status === 400 ? notShown(sessionID) : error
    found.unshift(...data)
    before = response.headers.get('x-next-cursor') ?? undefined
    if (before === undefined) return found
  }
}

function notShown(sessionID: string): ParleyError {
  const message = `OpenCode cannot show the conversation ${sessionID}: one of its prompts requested structured output. Continue it in the session where it was started.`
  return new ParleyError('agent_failed', message)
}

function asked<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessAborted(work, signal, 'Cancelled while OpenCode listed its conversations.')
}
