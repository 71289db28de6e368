import { applyDeltaToState, type Delta, type SessionState } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { OwnerFeed } from './owner-feed.ts'
import { readEvents } from './read-events.ts'
import {
  createSessionFeed,
  type EncodedItem,
  type FeedReader,
  type FollowFrom,
  type SessionFeed,
} from './session-feed.ts'
import { loadState, openBlockItems, withEvent } from './session-log.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'
import { shownText } from './shown-secrets.ts'

const pollMs = 250
const pageSize = 512
/** The number of empty polls between two checks that the log still exists. */
const pollsPerCheck = 8

type FollowedOptions = {
  readonly store: SessionStore
  readonly clock: Clock
  /** The source of live items. Without it, and while the owner is lost, events are read from the store. */
  readonly ownerFeed?: OwnerFeed | undefined
  readonly problem: (error: unknown) => void
}

/** The sessions that other processes own and that somebody reads here. Each is read once for all its readers. */
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

  /** Stops following a session that this process owns from now on. */
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
  readonly #feed: SessionFeed
  readonly #unused: () => void
  /** The state after the last published event. Only its id, epoch, `seq` and open blocks are used. */
  #state: SessionState
  #leaveOwner: (() => void) | undefined
  #isLive = false
  #withNative = false
  #polls = 0
  #stopTimer: (() => void) | undefined
  #isEnded = false

  /** Calls `unused` when there are no readers any more. The object must not be used afterwards. */
  constructor(options: FollowedOptions, state: SessionState, unused: () => void) {
    this.#options = options
    this.#state = state
    this.#unused = unused
    this.#feed = createSessionFeed({
      sessionId: state.id,
      epoch: state.epoch,
      head: () => this.#state.seq,
      openBlocks: () => openBlockItems(this.#state),
      soon: options.clock.soon,
      problem: options.problem,
      read: (sessionId, range) => readEvents(options.store, sessionId, range),
    })
  }

  async follow(from: FollowFrom, reader: FeedReader): Promise<() => void> {
    this.#stopTimer ??= this.#later()
    if (!this.#leaveOwner) this.#attach()
    return await this.#feed.follow(from, reader)
  }

  end(reason: 'deleted' | 'closed'): void {
    this.#isEnded = true
    this.#stopTimer?.()
    this.#detach()
    this.#unused()
    this.#feed.end(reason)
  }

  #later(): () => void {
    return this.#options.clock.after(pollMs, () => void this.#check(), { background: true })
  }

  /** Reads from the store unless the owner delivers, and ends when nobody reads any more. */
  async #check(): Promise<void> {
    if (!this.#feed.hasReaders) return this.end('closed')
    if (this.#isLive && this.#feed.hasNativeReaders !== this.#withNative) this.#detach()
    if (!this.#isLive) await this.#poll()
    if (this.#isEnded) return
    if (!this.#leaveOwner) this.#attach()
    this.#stopTimer = this.#later()
  }

  #attach(): void {
    const { ownerFeed } = this.#options
    if (!ownerFeed || this.#isEnded) return
    this.#withNative = this.#feed.hasNativeReaders
    const { id, seq: after, epoch } = this.#state
    let isOver = false
    const leave = ownerFeed.follow(
      id,
      { after, epoch, native: this.#withNative },
      {
        deliver: (item) => isOver || this.#deliver(item),
        live: () => {
          this.#isLive = !isOver
        },
        lost: () => {
          isOver = true
          if (this.#leaveOwner === detach) this.#detach()
        },
      },
    )
    const detach = () => {
      isOver = true
      leave()
    }
    if (!isOver) this.#leaveOwner = detach
  }

  #detach(): void {
    const leave = this.#leaveOwner
    this.#leaveOwner = undefined
    this.#isLive = false
    this.#polls = 0
    leave?.()
  }

  #deliver(item: EncodedItem): void {
    if (item.kind === 'event') return this.#publish(item)
    if (item.kind === 'delta') this.#state = applyDeltaToState(this.#state, JSON.parse(item.json) as Delta)
    this.#feed.publish(item)
  }

  /** Publishes the next event. An event that was published before is ignored. */
  #publish({ seq, json }: StoredEvent): void {
    if (seq <= this.#state.seq || this.#isEnded) return
    // After a gap, stops following the owner for now, and reads the missing events from the store.
    if (seq > this.#state.seq + 1) return this.#detach()
    this.#state = withEvent(this.#state, json)
    this.#feed.publish({ kind: 'event', seq, json: shownText(json) })
  }

  async #poll(): Promise<void> {
    try {
      while (!this.#isEnded && (await this.#readPage()));
    } catch (error) {
      this.#options.problem(error)
    }
  }

  /** Publishes the next events of the store. Returns whether there may be more. */
  async #readPage(): Promise<boolean> {
    const { store } = this.#options
    const { id, epoch, seq: after } = this.#state
    const page = await readEvents(store, id, { after, limit: pageSize })
    if (page.length === 0 && this.#polls++ % pollsPerCheck > 0) return false
    const record = await store.load(id)
    if (!record) this.end('deleted')
    // The log was replaced, or has lost its last events: readers must start again.
    else if (record.epoch !== epoch || record.head < after) this.end('closed')
    else for (const event of page) this.#publish(event)
    return page.length === pageSize
  }
}
