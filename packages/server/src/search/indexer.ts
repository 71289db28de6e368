import { hasCode, type SessionEvent } from '@parley/protocol'
import type { Clock } from '../core/index.ts'
import type { IndexCursor, IndexEntry, SearchIndex } from '../core/search-index.ts'
import type { SessionStore, StoredEvent } from '../core/session-store.ts'
import { maybeSearchable, searchableText } from './searchable-text.ts'
import { wordsOf } from './words.ts'

/** A log that is to be indexed up to `seq`. */
export type IndexedLog = {
  readonly id: string
  readonly epoch: string
  readonly seq: number
  readonly updatedAt: number
  readonly agent: string
  readonly cwd: string
}

export type IndexerParts = {
  readonly store: Pick<SessionStore, 'read' | 'list'>
  readonly index: SearchIndex
  readonly clock: Clock
  readonly problem: (error: unknown, doing: string) => void
}

const eventsAtOnce = 100
const sessionsAtOnce = 500
/** The time that new events wait, so that several are indexed in one step. */
const gatherMs = 300
/** The time that the indexer waits after a failure. */
const retryMs = 5_000
const maxTries = 5

/** Indexes logs, one step at a time, in the order in which they changed. */
export class Indexer {
  readonly #parts: IndexerParts
  readonly #due = new Map<string, IndexedLog | 'removed'>()
  #stopTimer: (() => void) | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(parts: IndexerParts) {
    this.#parts = parts
  }

  /** The number of sessions that are not indexed completely. */
  get pending(): number {
    return this.#due.size
  }

  /** A log has changed, or was loaded. It is indexed soon. */
  wake(log: IndexedLog): void {
    this.#due.set(log.id, log)
    this.#runAfter(gatherMs)
  }

  /** A session was deleted. Its words are removed soon. */
  remove(sessionId: string): void {
    this.#due.set(sessionId, 'removed')
    this.#runAfter(0)
  }

  /** Compares the index with all logs: they can have changed while nothing was indexed. */
  async compare(): Promise<void> {
    const { store, index } = this.#parts
    const indexed = new Map(await index.cursors())
    const behind: IndexedLog[] = []
    let cursor: string | undefined
    do {
      const page = await store.list({ limit: sessionsAtOnce, ...(cursor !== undefined && { cursor }) })
      for (const log of page.sessions) {
        const known = indexed.get(log.id)
        indexed.delete(log.id)
        if (log.seq > 0 && !isComplete(known, log)) behind.push(log)
      }
      cursor = page.cursor
    } while (cursor !== undefined && !this.#isClosed)
    // A search returns the most recently indexed events first, so the most recently changed sessions are indexed last.
    for (const log of behind.toSorted((a, b) => a.updatedAt - b.updatedAt))
      if (!this.#due.has(log.id)) this.#due.set(log.id, log)
    // The remaining sessions are not in the list. They were deleted, except for sessions that were created after the
    // list was read, which are due already.
    for (const sessionId of indexed.keys())
      if (!this.#due.has(sessionId) && !this.#isClosed) this.#due.set(sessionId, 'removed')
    if (this.#due.size > 0) this.#runAfter(0)
  }

  /** Resolves when everything that is due now is indexed, or its indexing has failed. */
  async settle(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    await this.#run()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopTimer?.()
    await this.#running
  }

  #runAfter(ms: number): void {
    if (this.#isClosed) return
    this.#stopTimer ??= this.#parts.clock.after(
      ms,
      () => {
        this.#stopTimer = undefined
        void this.#run()
      },
      { background: true },
    )
  }

  #run(): Promise<void> {
    this.#running ??= this.#indexDue().finally(() => {
      this.#running = undefined
      // A log that changed while it was indexed is due again.
      if (this.#due.size > 0) this.#runAfter(gatherMs)
    })
    return this.#running
  }

  async #indexDue(): Promise<void> {
    for (const [sessionId, log] of this.#due) {
      if (this.#isClosed) return
      try {
        if (log === 'removed') await this.#parts.index.remove(sessionId)
        else await this.#indexLog(log)
        // A log that has changed meanwhile is still due.
        if (this.#due.get(sessionId) === log) this.#due.delete(sessionId)
      } catch (error) {
        if (this.#isClosed) return
        this.#parts.problem(error, 'index a session for the search')
        if (wasReset(error)) await this.compare().catch(() => undefined)
        this.#runAfter(retryMs)
        return
      }
    }
  }

  async #indexLog(log: IndexedLog): Promise<void> {
    const { store, index, clock } = this.#parts
    const { id: session, epoch, agent, cwd: folder } = log
    let from = await index.cursor(session)
    if (from && (from.epoch !== epoch || from.seq > log.seq)) {
      await index.remove(session)
      from = undefined
    }
    for (let tries = 0; (from?.seq ?? 0) < log.seq && tries < maxTries && !this.#isClosed; ) {
      const events = await store.read(session, { after: from?.seq ?? 0, limit: eventsAtOnce })
      const last = events.at(-1)
      if (!last) return
      const to: IndexCursor = { epoch, seq: last.seq }
      const entries = events.flatMap(entryOf)
      const isAdded = await index.add({ session, agent, folder, from, to, entries })
      tries = isAdded ? 0 : tries + 1
      from = isAdded ? to : await index.cursor(session)
      if (from && from.epoch !== epoch) return
      await clock.yieldToIo()
    }
  }
}

function isComplete(known: IndexCursor | undefined, log: IndexedLog): boolean {
  return known?.epoch === log.epoch && known.seq >= log.seq
}

function entryOf({ seq, json, damaged }: StoredEvent): IndexEntry[] {
  if (damaged || !maybeSearchable.test(json.slice(0, 500))) return []
  const event = JSON.parse(json) as SessionEvent
  const found = searchableText(event)
  const words = found ? wordsOf(found.text) : []
  return found && words.length > 0 ? [{ seq, kind: found.kind, words: words.join(' ') }] : []
}

function wasReset(error: unknown): boolean {
  return hasCode(error, 'busy') && error.details?.wasReset === true
}
