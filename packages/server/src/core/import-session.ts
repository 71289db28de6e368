import {
  type AgentConversation,
  applyToState,
  type EventDraft,
  emptyState,
  messageOf,
  NewImport,
  ParleyError,
  type PromptPart,
  type SessionState,
} from '@parley/protocol'
import type { AgentAdapter, Remembered } from './agent-adapter.ts'
import { checked } from './checked.ts'
import { type Clock, type Ids, withTimeLimit } from './clock.ts'
import { endTurn } from './end-turn.ts'
import { sessionIdFrom } from './hash.ts'
import { draftsOf, freshProgress, isDelta } from './record-output.ts'
import { numbered } from './session-log.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'

/** Imports conversations that agents keep by themselves as sessions. */
export type Importing = {
  /** Conversations, the latest first; those of one folder if it is given. */
  conversations(agent: string, query?: { cwd?: string }): Promise<AgentConversation[]>
  /**
   * Imports a conversation as a new session that can be continued. Importing the same conversation twice gives one
   * session.
   */
  importConversation(given: NewImport): Promise<SessionState>
}

const listMs = 30_000
/** Long conversations take time to read. */
const readMs = 300_000
const importedEnd = { outcome: 'completed', stopReason: 'imported' } as const

export function createImporting(options: {
  store: SessionStore
  clock: Clock
  ids: Ids
  adapterFor: (agent: string) => AgentAdapter
  checkFolder: (cwd: string) => Promise<string>
  created: (state: SessionState) => void
}): Importing {
  const { store, clock, ids, adapterFor, checkFolder, created } = options

  function memoryOf(agent: string): NonNullable<AgentAdapter['conversations']> {
    const { name, conversations } = adapterFor(agent)
    if (conversations) return conversations
    throw new ParleyError('not_supported', `${name} does not tell of its own conversations.`)
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
    async importConversation(given) {
      const { agent, agentSessionId } = checked(NewImport, given, 'The import')
      const conversation = (await list(agent)).find((one) => one.agentSessionId === agentSessionId)
      if (!conversation) throw unknownConversation(adapterFor(agent), agentSessionId)
      const id = sessionIdFrom(['import', agent, agentSessionId])
      const before = await store.load(conversation.sessionId ?? id)
      if (before) return before.state
      const cwd = await checkFolder(conversation.cwd)
      const writer = new ImportWriter(emptyState(id, ids('epo')), ids)
      writer.begin({ agent, cwd, title: conversation.title, agentSessionId })
      const read = async (signal: AbortSignal) => {
        for await (const one of memoryOf(agent).read(agentSessionId, signal)) writer.take(one)
      }
      await inTime(agent, readMs, read)
      const { events, state } = writer.end(clock.now())
      try {
        await store.create({ sessionId: id, epoch: state.epoch, events, state })
      } catch (error) {
        const made = error instanceof ParleyError && error.code === 'conflict' && (await store.load(id))
        if (made) return made.state
        throw error
      }
      created(state)
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
  const message = `${name} knows no conversation ${agentSessionId} on this machine.`
  return new ParleyError('not_found', message, { details: { agentSessionId } })
}

type Origin = { agent: string; cwd: string; title: string; agentSessionId: string }

/** Writes a log from an agent's record of a conversation, by the same rules as a live log. */
class ImportWriter {
  readonly #ids: Ids
  readonly #connectionId: string
  readonly #events: StoredEvent[] = []
  #origin: Origin | undefined
  #progress = freshProgress()
  #state: SessionState
  #at = 0

  constructor(state: SessionState, ids: Ids) {
    this.#state = state
    this.#ids = ids
    this.#connectionId = ids('con')
  }

  /** The session starts at the time of the first recorded entry. */
  begin(origin: Origin): void {
    this.#origin = origin
  }

  take(one: Remembered): void {
    const at = Math.max(this.#at, one.at)
    if (one.type === 'prompt') this.#endTurn()
    this.#at = at
    this.#open()
    if (one.type === 'prompt') return this.#prompt([...one.parts], one.id)
    const { output } = one
    if (output.type === 'native' || isDelta(output)) return
    if (output.type === 'turn.started' || output.type === 'prompt.taken') return
    const context = { now: at, connectionId: this.#connectionId, ids: this.#ids }
    const { drafts, commit } = draftsOf(output, this.#state, this.#progress, context)
    for (const draft of drafts) this.#add(draft)
    commit()
  }

  end(now: number): { events: readonly StoredEvent[]; state: SessionState } {
    if (this.#at === 0) this.#at = now
    this.#open()
    this.#endTurn()
    this.#add({ type: 'agent.disconnected', reason: 'closed' })
    return { events: this.#events, state: this.#state }
  }

  #open(): void {
    if (!this.#origin) return
    const { agent, cwd, title, agentSessionId } = this.#origin
    this.#origin = undefined
    this.#add({ type: 'session.created', agent, cwd, title, mode: 'ask', importedFrom: { agentSessionId } })
    this.#add({ type: 'agent.connected', connectionId: this.#connectionId, agentSessionId, cwd })
  }

  #prompt(parts: PromptPart[], id: string | undefined): void {
    const promptId = this.#ids('prm')
    const outside = id === undefined ? {} : { outside: { id } }
    this.#add({ type: 'prompt.submitted', promptId, parts, delivery: 'queue', ...outside })
    this.#add({ type: 'turn.started', turnId: this.#ids('trn'), promptId })
    this.#progress = freshProgress()
  }

  #endTurn(): void {
    for (const draft of endTurn(this.#state, importedEnd, this.#at)) this.#add(draft)
  }

  #add(draft: EventDraft): void {
    const event = numbered(draft, this.#state.id, this.#state.seq + 1, this.#at)
    this.#state = applyToState(this.#state, event)
    this.#events.push({ seq: event.seq, json: JSON.stringify(event) })
  }
}
