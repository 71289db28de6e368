import { type Client, isUnreachable } from '@parley/client'
import type { Access, AccessItem, FeedFrom } from '../faces/acp/index.ts'
import type { Connected } from './connect.ts'

export type ReconnectingAccess = AsyncDisposable & {
  readonly access: Access
  /** Marks a session as this command's own. Disconnecting does not wait for such sessions. */
  own(sessionId: string): void
}

const pageSize = 100
/** The time for which a restarting server is awaited. */
const graceMs = 5_000
const retryMs = 200
const answerMs = 2_000
const commandMs = 30_000

/**
 * Access to the sessions of a data folder while an editor is connected. The server may end earlier, for
 * example if it belongs to another editor's process. The access then uses the next server, or an embedded
 * server.
 */
export function createReconnectingAccess(
  first: Connected,
  connectAnew: () => Promise<Connected>,
): ReconnectingAccess {
  const ours = new Set<string>()
  let current = first
  let gone = new AbortController()
  let replacing: Promise<Connected> | undefined

  async function reachable(): Promise<Connected> {
    if (current.embedded || current.client.socket.status.state === 'open') return current
    replacing ??= replaceIfGone().finally(() => {
      replacing = undefined
    })
    return replacing
  }

  async function replaceIfGone(): Promise<Connected> {
    for (const deadline = performance.now() + graceMs; performance.now() < deadline; ) {
      if (await answers(current.client)) return current
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
    const [before, left] = [current, gone]
    current = await connectAnew()
    gone = new AbortController()
    for (const sessionId of ours) current.own(sessionId)
    left.abort()
    await before[Symbol.asyncDispose]()
    return current
  }

  /**
   * Runs a call on the current server. A call that was pending when the server ended is repeated on the next server; a
   * command keeps its id.
   */
  async function use<Reply>(work: (client: Client) => Promise<Reply>): Promise<Reply> {
    const server = await reachable()
    const forget = server.client.socket.onStatus(({ state }) => {
      if (state === 'waiting') reachable().catch(() => undefined)
    })
    try {
      return await work(server.client)
    } catch (thrown) {
      if (server === current && !isUnreachable(thrown)) throw thrown
      const next = await reachable()
      if (next === server) throw thrown
      return work(next.client)
    } finally {
      forget()
    }
  }

  async function* feed(sessionId: string, { signal, ...from }: FeedFrom): AsyncGenerator<AccessItem> {
    let { after, epoch } = from
    for (;;) {
      const left = gone.signal
      const following = { after, epoch, signal: AbortSignal.any([signal, left]) }
      for await (const item of current.client.feed(sessionId, following)) {
        if (item.type === 'event') after = item.event.seq
        if (item.type === 'reset') [after, epoch] = [0, item.epoch]
        yield item
      }
      if (signal.aborted || !left.aborted) return
      yield { type: 'status', status: 'lost' }
    }
  }

  return {
    access: { ...verbs(use), feed },
    own(sessionId) {
      ours.add(sessionId)
      current.own(sessionId)
    },
    [Symbol.asyncDispose]: () => current[Symbol.asyncDispose](),
  }
}

type Use = <Reply>(work: (client: Client) => Promise<Reply>) => Promise<Reply>

function verbs(use: Use): Omit<Access, 'feed'> {
  return {
    async agent(id) {
      const { agents } = await use((client) => client.call('listAgents'))
      return agents.find((agent) => agent.id === id)
    },
    create: (input) => use((client) => client.createSession(input)),
    state: (id) => use((client) => client.call('getSession', { params: { id }, query: { tail: 0 } })),
    list: ({ agent, cursor }) => {
      const query = { agent, limit: pageSize, ...(cursor !== undefined && { cursor }) }
      return use((client) => client.call('listSessions', { query }))
    },
    command: (sessionId, { commandId, ...command }) =>
      use((client) =>
        client.command(sessionId, command, { commandId, signal: AbortSignal.timeout(commandMs) }),
      ),
    async remove(id) {
      await use((client) => client.call('deleteSession', { params: { id } }))
    },
  }
}

/**
 * Whether the server answers. The route must need the token, because another program may answer the health check at
 * that address.
 */
async function answers(client: Client): Promise<boolean> {
  return client.call('listSessions', { query: { limit: 1 }, timeoutMs: answerMs }).then(
    () => true,
    () => false,
  )
}
