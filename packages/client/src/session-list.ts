import type { ParleyError, ServerFrame, SessionStatus, SessionSummary } from '@parley/protocol'
import type { ClientParts } from './client-parts.ts'
import { asParleyError } from './http.ts'
import { type BatchedStore, createBatchedStore, type LiveStore, type Schedule } from './live-store.ts'
import { createReload } from './reload.ts'
import { untilReached } from './retry.ts'
import type { SocketStatus } from './socket.ts'

/** The session list, kept current, in the server's order: pinned sessions first, then the most recently changed. */
export type SessionList = LiveStore<SessionListSnapshot> & {
  /** Loads the next page. Resolves at once if there is none. */
  loadMore(): Promise<void>
  close(): void
}

export type SessionListSnapshot = {
  readonly status: 'loading' | 'live' | 'reconnecting' | 'closed' | 'failed'
  readonly sessions: readonly SessionSummary[]
  readonly hasMore: boolean
  readonly error?: ParleyError
}

export type SessionListQuery = {
  readonly q?: string
  readonly agent?: string
  readonly status?: SessionStatus
  readonly archived?: 'true' | 'false' | 'all'
}

export type SessionListOptions = SessionListQuery & { readonly limit?: number; readonly schedule?: Schedule }

type Changed = ServerFrame & { type: 'session-changed' }
const maxPerPage = 500

export function createSessionList(client: ClientParts, options: SessionListOptions = {}): SessionList {
  return new LiveSessionList(client, options)
}

class LiveSessionList implements SessionList {
  readonly subscribe: SessionList['subscribe']
  readonly getSnapshot: SessionList['getSnapshot']
  readonly #client: ClientParts
  readonly #query: SessionListQuery
  readonly #limit: number
  readonly #store: BatchedStore<SessionListSnapshot>
  readonly #controller = new AbortController()
  readonly #reload = createReload(() => this.#load())
  readonly #forgets: (() => void)[]
  #status: SessionListSnapshot['status'] = 'loading'
  #error: ParleyError | undefined
  #sessions: readonly SessionSummary[] = []
  #cursor: string | undefined
  #changesWhileLoading: Changed[] | undefined
  #wasLoaded = false
  #more: Promise<void> | undefined

  constructor(client: ClientParts, { limit = 50, schedule, ...query }: SessionListOptions) {
    this.#client = client
    this.#query = query
    this.#limit = limit
    this.#store = createBatchedStore(() => this.#snapshot(), schedule)
    this.subscribe = this.#store.subscribe
    this.getSnapshot = this.#store.getSnapshot
    const { socket } = client
    this.#forgets = [
      socket.onFrame((frame) => frame.type === 'session-changed' && this.#changed(frame)),
      socket.onStatus((status) => this.#connectionChanged(status)),
    ]
    socket.open()
    if (socket.status.state !== 'connecting') this.#connectionChanged(socket.status)
  }

  loadMore(): Promise<void> {
    this.#more ??= this.#loadMore().finally(() => {
      this.#more = undefined
    })
    return this.#more
  }

  close(): void {
    this.#end('closed')
  }

  async #load(): Promise<void> {
    try {
      await this.#loadShown()
      this.#wasLoaded = true
      this.#become(this.#client.socket.status.state === 'open' ? 'live' : 'reconnecting')
    } catch (thrown) {
      this.#end('failed', asParleyError(thrown))
    }
  }

  /**
   * Loads as many sessions as are shown now. Changes that arrive during the load are applied to the result,
   * because the loaded pages may not have them.
   */
  async #loadShown(): Promise<void> {
    const changes: Changed[] = []
    this.#changesWhileLoading = changes
    const wanted = Math.max(this.#limit, this.#sessions.length)
    let rows: SessionSummary[] = []
    let next: string | undefined
    do {
      const page = await this.#page({ limit: Math.min(wanted - rows.length, maxPerPage), cursor: next })
      rows = [...rows, ...page.sessions]
      next = page.cursor
    } while (next !== undefined && rows.length < wanted)
    this.#changesWhileLoading = undefined
    this.#sessions = changes.reduce((list, change) => withChange(list, change, this.#query), inOrder(rows))
    this.#cursor = next
  }

  async #loadMore(): Promise<void> {
    const from = this.#cursor
    if (from === undefined) return
    const page = await this.#page({ limit: this.#limit, cursor: from })
    if (this.#cursor !== from) return
    const known = new Set(this.#sessions.map((session) => session.id))
    const fresh = page.sessions.filter((session) => !known.has(session.id))
    this.#sessions = inOrder([...this.#sessions, ...fresh])
    this.#cursor = page.cursor
    this.#store.touch()
  }

  #page(input: { limit: number; cursor?: string | undefined }) {
    const { clock, socket, http } = this.#client
    const { signal } = this.#controller
    return untilReached(() => http.call('listSessions', { query: { ...this.#query, ...input }, signal }), {
      clock,
      socket,
      signal,
      busyToo: true,
      onUnreachable: (why) => this.#become(this.#wasLoaded ? 'reconnecting' : 'loading', why),
    })
  }

  /** Applies a change to the list. A search is loaded again instead: only the server knows which sessions match. */
  #changed(frame: Changed): void {
    this.#changesWhileLoading?.push(frame)
    if (this.#query.q !== undefined && frame.change !== 'deleted') return this.#reload.run()
    const next = withChange(this.#sessions, frame, this.#query)
    if (next === this.#sessions) return
    this.#sessions = next
    this.#store.touch()
  }

  #connectionChanged(connection: SocketStatus): void {
    if (connection.state === 'open') return this.#reload.run()
    if (connection.state === 'stopped') return this.#end('failed', connection.error)
    if (connection.state === 'closed') return this.#end('closed')
    if (connection.state === 'waiting' && !this.#wasLoaded) return this.#reload.run()
    if (this.#wasLoaded) this.#become('reconnecting')
  }

  #snapshot(): SessionListSnapshot {
    const hasMore = this.#cursor !== undefined
    const error = this.#error && { error: this.#error }
    return { status: this.#status, sessions: this.#sessions, hasMore, ...error }
  }

  #become(status: SessionListSnapshot['status'], error?: ParleyError): void {
    if (this.#status === 'closed' || this.#status === 'failed') return
    this.#status = status
    this.#error = error
    this.#store.touch()
  }

  #end(status: 'closed' | 'failed', error?: ParleyError): void {
    this.#become(status, error)
    this.#controller.abort()
    for (const forget of this.#forgets) forget()
  }
}

/**
 * Returns the list after one change. Returns the same list if the change does not affect it or is older than
 * the shown data. A session keeps its known place even if the change does not contain it, because the place
 * of a session never changes.
 */
export function withChange(
  sessions: readonly SessionSummary[],
  change: Pick<Changed, 'session' | 'change' | 'summary'>,
  query: SessionListQuery = {},
): readonly SessionSummary[] {
  const before = sessions.find((session) => session.id === change.session)
  const { summary } = change
  const gone = change.change === 'deleted' || (summary !== undefined && !matches(summary, query))
  if (gone) return before ? sessions.filter((session) => session !== before) : sessions
  if (!summary || (before && before.epoch === summary.epoch && before.seq > summary.seq)) return sessions
  const place = before?.place ?? summary.place
  const after = { ...summary, ...(place !== undefined && { place }) }
  return inOrder([...sessions.filter((session) => session !== before), after])
}

function matches(summary: SessionSummary, { agent, status, archived = 'false' }: SessionListQuery): boolean {
  if (agent !== undefined && summary.agent !== agent) return false
  if (status !== undefined && summary.status !== status) return false
  return archived === 'all' || summary.archived === (archived === 'true')
}

function inOrder(sessions: readonly SessionSummary[]): readonly SessionSummary[] {
  return sessions.toSorted(
    (one, other) =>
      Number(other.pinned) - Number(one.pinned) ||
      other.updatedAt - one.updatedAt ||
      (one.id < other.id ? -1 : 1),
  )
}
