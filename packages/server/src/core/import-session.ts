import type { AgentAdapter, Remembered } from '@parley/adapter-kit'
import {
  type Actor,
  type AgentConversation,
  defined,
  type EventDraft,
  emptyState,
  hasCode,
  messageOf,
  NewImport,
  ParleyError,
  type SessionState,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import { checked } from './checked.ts'
import { type Ids, withTimeLimit } from './clock.ts'
import { sessionIdFrom } from './hash.ts'
import type { HostOptions } from './host-options.ts'
import { LogWriter } from './log-writer.ts'
import type { SessionServices } from './session-services.ts'

/** Imports conversations that agents themselves store, as sessions. */
export type Importing = {
  /** The conversations of an agent, the latest first; with `cwd`, only those of that folder. */
  conversations(agent: string, query?: { cwd?: string }): Promise<AgentConversation[]>
  /**
   * Imports a conversation as a new session that can be continued. Importing the same conversation twice gives one
   * session.
   */
  importConversation(given: NewImport, by?: Actor): Promise<SessionState>
}

const listMs = 30_000
/** The time limit for an agent to read a conversation. */
const readMs = 300_000

export function createImporting(options: {
  services: SessionServices
  adapterFor: (agent: string) => AgentAdapter
  folders: Pick<HostOptions, 'checkFolder' | 'projectOf'>
}): Importing {
  const { services, adapterFor, folders } = options
  const { store, clock, ids, sealer, news } = services

  function memoryOf(agent: string): NonNullable<AgentAdapter['conversations']> {
    const { name, conversations } = adapterFor(agent)
    if (conversations) return conversations
    throw new ParleyError(
      'not_supported',
      `${name} does not list its conversations, so none can be imported.`,
    )
  }

  function inTime<T>(agent: string, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const adapter = adapterFor(agent)
    return withTimeLimit(clock, ms, (signal) =>
      work(signal).catch((error: unknown) => {
        throw unread(adapter, error, signal.aborted)
      }),
    )
  }

  async function list(agent: string, query: { cwd?: string } = {}): Promise<AgentConversation[]> {
    const found = await inTime(agent, listMs, async (signal) => memoryOf(agent).list(query, signal))
    const known = await store.sessionsOf(
      agent,
      found.map(({ agentSessionId }) => agentSessionId),
    )
    return found
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
      .map((one) => {
        const sessionId = known.get(one.agentSessionId)
        return sessionId === undefined ? one : { ...one, sessionId }
      })
  }

  return {
    conversations: list,
    async importConversation(given, by) {
      const { agent, agentSessionId } = checked(NewImport, given, 'The import')
      const conversation = (await list(agent)).find((one) => one.agentSessionId === agentSessionId)
      if (!conversation) throw unknownConversation(adapterFor(agent), agentSessionId)
      const id = sessionIdFrom(['import', agent, agentSessionId])
      const before = await store.load(conversation.sessionId ?? id)
      if (before) return before.state
      const cwd = await folders.checkFolder(conversation.cwd)
      const place = { cwd, ...defined({ project: (await folders.projectOf?.(cwd))?.project }) }
      const writer = new LogWriter(emptyState(id, ids('epo')), sealer)
      const { title } = conversation
      const first: readonly EventDraft[] = causedBy(by, [
        { type: 'session.created', agent, ...place, title, mode: 'ask', importedFrom: { agentSessionId } },
        { type: 'agent.connected', connectionId: ids('con'), agentSessionId, cwd },
      ])
      const read = (signal: AbortSignal) =>
        writeImport(writer, ids, { first, record: memoryOf(agent).read(agentSessionId, signal) })
      const at = (await inTime(agent, readMs, read)) || clock.now()
      if (writer.events.length === 0) writer.add(at, ...first)
      writer.endTurn(at)
      writer.add(at, { type: 'agent.disconnected', reason: 'closed' })
      const { stored: events, state } = writer
      try {
        await store.create({ sessionId: id, epoch: state.epoch, events, state })
      } catch (error) {
        const made = hasCode(error, 'conflict') && (await store.load(id))
        if (made) return made.state
        throw error
      }
      news.created(state)
      return state
    },
  }
}

function unread({ name }: AgentAdapter, error: unknown, isLate: boolean): ParleyError {
  if (error instanceof ParleyError) return error
  const why = isLate ? 'it took too long' : messageOf(error)
  const message = `The conversations of ${name} could not be read: ${why}. Try again.`
  return new ParleyError(isLate ? 'busy' : 'agent_failed', message, { cause: error })
}

function unknownConversation({ name }: AgentAdapter, agentSessionId: string): ParleyError {
  const message = `${name} has no conversation ${agentSessionId} on this machine.`
  return new ParleyError('not_found', message, { details: { agentSessionId } })
}

/** Writes a log from an agent's record of a conversation. The session starts at the time of the first entry. */
async function writeImport(
  writer: LogWriter,
  ids: Ids,
  origin: { readonly first: readonly EventDraft[]; readonly record: AsyncIterable<Remembered> },
): Promise<number> {
  let at = 0
  for await (const one of origin.record) {
    const next = Math.max(at, one.at)
    if (one.type === 'prompt') writer.endTurn(at)
    at = next
    if (writer.events.length === 0) writer.add(at, ...origin.first)
    if (one.type === 'output') writer.addOutput(at, ids, one.output)
    else
      writer.startTurn(at, ids, {
        parts: one.parts,
        ...(one.id !== undefined && { outside: { id: one.id } }),
      })
  }
  return at
}
