import type { SessionState } from '@parley/protocol'
import type { Clock } from './clock.ts'
import { readEvents } from './read-events.ts'
import { createSessionFeed, type FeedReader, type FollowFrom, type SessionFeed } from './session-feed.ts'
import { loadState } from './session-log.ts'
import type { SessionStore } from './session-store.ts'
import { shownText } from './shown-secrets.ts'

const pollMs = 250
const pageSize = 512

type FollowedOptions = {
  readonly store: SessionStore
  readonly clock: Clock
  readonly problem: (error: unknown) => void
}

/**
 * The sessions that other processes own and that somebody reads here. Their events are read from the store again and
 * again, once for all readers of a session.
 */
export class FollowedSessions {
  readonly #options: FollowedOptions
  readonly #sessions = new Map<string, Promise<FollowedSession>>()

  constructor(options: FollowedOptions) {
    this.#options = options
  }

  async follow(sessionId: string, from: FollowFrom, reader: FeedReader): Promise<() => void> {
    const followed = this.#sessions.get(sessionId) ?? this.#add(sessionId)
    return (await followed).follow(from, reader)
  }

  /** Ends the reading of a session that this process owns from now on. Its readers connect again. */
  leave(sessionId: string): void {
    const followed = this.#sessions.get(sessionId)
    this.#sessions.delete(sessionId)
    followed?.then((session) => session.end('closed')).catch(() => undefined)
  }

  leaveAll(): void {
    for (const sessionId of [...this.#sessions.keys()]) this.leave(sessionId)
  }

  #add(sessionId: string): Promise<FollowedSession> {
    const forget = () => {
      if (this.#sessions.get(sessionId) === followed) this.#sessions.delete(sessionId)
    }
    const followed = loadState(this.#options.store, sessionId).then(
      (state) => new FollowedSession(this.#options, state, forget),
    )
    this.#sessions.set(sessionId, followed)
    followed.catch(forget)
    return followed
  }
}

class FollowedSession {
  readonly #options: FollowedOptions
  readonly #sessionId: string
  readonly #epoch: string
  readonly #feed: SessionFeed
  readonly #unused: () => void
  #head: number
  #stopTimer: (() => void) | undefined
  #isEnded = false

  /** Calls `unused` when there are no readers any more. The object must not be used afterwards. */
  constructor(options: FollowedOptions, { id, epoch, seq }: SessionState, unused: () => void) {
    this.#options = options
    this.#sessionId = id
    this.#epoch = epoch
    this.#head = seq
    this.#unused = unused
    this.#feed = createSessionFeed({
      sessionId: id,
      epoch,
      head: () => this.#head,
      openBlocks: () => [],
      soon: options.clock.soon,
      problem: options.problem,
      read: (sessionId, range) => readEvents(options.store, sessionId, range),
    })
  }

  async follow(from: FollowFrom, reader: FeedReader): Promise<() => void> {
    this.#pollLater()
    return await this.#feed.follow(from, reader)
  }

  end(reason: 'deleted' | 'closed'): void {
    this.#isEnded = true
    this.#stopTimer?.()
    this.#unused()
    this.#feed.end(reason)
  }

  #pollLater(): void {
    const poll = () => {
      this.#stopTimer = undefined
      void this.#poll()
    }
    this.#stopTimer ??= this.#options.clock.after(pollMs, poll, { background: true })
  }

  async #poll(): Promise<void> {
    try {
      while (!this.#isEnded && (await this.#readPage()));
    } catch (error) {
      this.#options.problem(error)
    }
    if (this.#isEnded) return
    if (this.#feed.hasReaders) this.#pollLater()
    else this.end('closed')
  }

  /** Publishes the next events. Returns whether there may be more. */
  async #readPage(): Promise<boolean> {
    const { store } = this.#options
    const page = await readEvents(store, this.#sessionId, { after: this.#head, limit: pageSize })
    for (const { seq, json } of page) {
      this.#head = seq
      this.#feed.publish({ kind: 'event', seq, json: shownText(json) })
    }
    if (page.length > 0) return page.length === pageSize
    const record = await store.load(this.#sessionId)
    if (!record) this.end('deleted')
    // The log is another one, or has lost its last events: readers must begin anew.
    else if (record.epoch !== this.#epoch || record.head < this.#head) this.end('closed')
    return false
  }
}
