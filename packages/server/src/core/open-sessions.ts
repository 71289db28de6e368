import { defined, ParleyError, type SessionState } from '@parley/protocol'
import { fencedStore } from './fenced-store.ts'
import { FollowedSessions } from './followed-session.ts'
import { keepFollowing } from './keep-following.ts'
import type { LiveSession } from './live-session.ts'
import type { FeedReader, FollowFrom } from './session-feed.ts'
import { loadState } from './session-log.ts'
import { beingDeleted, isNotOwned, notOwned, stopping, unlessAwaited } from './session-refusal.ts'
import type { SessionServices } from './session-services.ts'

/** The number of sessions that are taken over from other processes in one step. */
const adoptedAtOnce = 20

/** The sessions in memory. An unused session is removed from memory, and loaded again on use. */
export class OpenSessions {
  readonly #services: SessionServices
  readonly #followed: FollowedSessions
  readonly #sessions = new Map<string, Promise<LiveSession>>()
  readonly #usedAt = new Map<string, number>()
  /** The terms under which this process owns the sessions. */
  readonly #terms = new Map<string, number>()
  readonly #deleting = new Set<string>()
  readonly #rewriting = new Map<string, Promise<void>>()
  /** The former owners whose agents were ended on this machine. */
  readonly #endedOwners = new Map<string, Promise<void>>()
  /** The last operation on each session whose place is awaited. The next operation on that session waits for it. */
  readonly #caring = new Map<string, Promise<unknown>>()
  #liveSessions: Promise<typeof LiveSession> | undefined
  #LiveSession: typeof LiveSession | undefined
  #stopSweep: (() => void) | undefined
  #closing = false

  constructor(services: SessionServices) {
    this.#services = services
    const problem = (error: unknown) => services.problem({ error, doing: 'follow a session of another node' })
    const { store, clock, ownerFeed } = services
    this.#followed = new FollowedSessions({ store, clock, ownerFeed, problem })
  }

  get closing(): boolean {
    return this.#closing
  }

  /**
   * Returns the session, and loads it if it is not in memory. Rejects when the host stops or the session is
   * being deleted.
   */
  open(sessionId: string): Promise<LiveSession> {
    if (this.#closing) return Promise.reject(stopping())
    if (this.#deleting.has(sessionId)) return Promise.reject(beingDeleted())
    const rewriting = this.#rewriting.get(sessionId)
    if (rewriting) return rewriting.catch(() => undefined).then(() => this.open(sessionId))
    const session = this.#sessions.get(sessionId) ?? this.#loadAndRecover(sessionId)
    this.#usedAt.set(sessionId, this.#services.clock.now())
    return session
  }

  /**
   * Runs an operation that records something, but needs neither the agent nor the folder. If the place of the session
   * is awaited, this process is the session's caretaker during the operation.
   */
  async record<T>(sessionId: string, work: (session: LiveSession) => Promise<T>): Promise<T> {
    const isCaring = this.#caring.has(sessionId)
    const session = isCaring ? undefined : await this.open(sessionId).catch(unlessAwaited)
    if (session) return work(session)
    const before = this.#caring.get(sessionId)
    const caring = Promise.resolve(before)
      .catch(() => undefined)
      .then(() => this.#takeCare(sessionId, work))
    this.#caring.set(sessionId, caring)
    try {
      return await caring
    } finally {
      if (this.#caring.get(sessionId) === caring) this.#caring.delete(sessionId)
    }
  }

  /**
   * Runs an operation as the caretaker of a session. The session does not stay in memory, because a node at the place
   * of the session can claim it at any time.
   */
  async #takeCare<T>(sessionId: string, work: (session: LiveSession) => Promise<T>): Promise<T> {
    if (this.#closing) throw stopping()
    const { ownership, observer, problem, store: unfenced } = this.#services
    const claim = await ownership.takeCare?.(sessionId)
    if (claim?.type !== 'owned') throw notOwned(sessionId, claim ?? { type: 'awaited', place: 'its machine' })
    const { term, awaits } = claim
    // A caretaker has no agent that would have to be killed when it loses the session.
    const store = fencedStore(unfenced, term, () => undefined)
    const services = { ...this.#services, store, place: awaits, ...defined({ awaits }) }
    let session: LiveSession | undefined
    try {
      const Live = await this.loadCode()
      session = new Live(services, await loadState(unfenced, sessionId), this)
      return await work(session)
    } finally {
      const released = Promise.resolve(session?.stop()).then(() => ownership.release(sessionId, term ?? 0))
      await released.catch((error) => problem({ error, doing: 'give back a session', sessionId }))
      if (session) observer.left(sessionId)
    }
  }

  /** The state of a session, whether or not this process owns it. */
  async state(sessionId: string): Promise<SessionState> {
    const stored = () => loadState(this.#services.store, sessionId)
    return this.#hereOr(sessionId, async () => (await this.open(sessionId)).state, stored)
  }

  /** Follows a session, whether or not this process owns it. */
  async follow(sessionId: string, from: FollowFrom, reader: FeedReader): Promise<() => void> {
    if (this.#isSole) return this.followOwned(sessionId, from, reader)
    const { clock, problem } = this.#services
    const follow = (next: FollowFrom, part: FeedReader) =>
      this.#hereOr(
        sessionId,
        () => this.followOwned(sessionId, next, part),
        () => this.#followed.follow(sessionId, next, part),
      )
    return keepFollowing(follow, from, reader, {
      clock,
      isClosing: () => this.#closing,
      problem: (error) => problem({ error, doing: 'follow a session', sessionId }),
    })
  }

  /** Follows a session that this process owns, or that nobody owns. */
  async followOwned(sessionId: string, from: FollowFrom, reader: FeedReader): Promise<() => void> {
    return (await this.open(sessionId)).log.feed.follow(from, reader)
  }

  /** True if no other process could own a session. */
  get #isSole(): boolean {
    return this.#services.ownership.firstTerm === undefined
  }

  /**
   * Calls `here` if the session is open in this process, or if no other process could own it. Otherwise, or if
   * `here` fails because another process owns the session, calls `elsewhere`.
   */
  async #hereOr<T>(sessionId: string, here: () => Promise<T>, elsewhere: () => Promise<T>): Promise<T> {
    if (!this.#isSole && !this.#sessions.has(sessionId)) return elsewhere()
    return here().catch((error) => {
      if (isNotOwned(error)) return elsewhere()
      throw error
    })
  }

  /**
   * Loads a session. If other processes could own it, it is recovered too: `adopt` does not return a session that this
   * process has claimed for a reader, so the work of the former owner would wait for the next command.
   */
  #loadAndRecover(sessionId: string): Promise<LiveSession> {
    const session = this.#add(sessionId, this.#load(sessionId))
    if (!this.#isSole)
      session
        .then(() => (this.#sessions.get(sessionId) === session ? this.#recover(sessionId) : undefined))
        .catch(() => undefined)
    return session
  }

  async #load(sessionId: string): Promise<LiveSession> {
    const claim = await this.#services.ownership.claim(sessionId)
    if (claim.type !== 'owned') throw notOwned(sessionId, claim)
    // The term is stored before the session is loaded, so that the session is released if loading fails.
    if (claim.term !== undefined) this.#terms.set(sessionId, claim.term)
    await this.#endLeftovers(claim.former)
    await this.loadCode()
    return this.#live(await loadState(this.#services.store, sessionId), claim.term)
  }

  /** Ends the agents of an owner that is gone, before an agent is started here. Done once per owner. */
  #endLeftovers(owner: string | undefined): Promise<void> | undefined {
    if (owner === undefined) return undefined
    const before = this.#endedOwners.get(owner)
    if (before) return before
    const ended = this.#services.leftovers?.end(owner) ?? Promise.resolve()
    this.#endedOwners.set(owner, ended)
    ended.catch(() => this.#endedOwners.delete(owner))
    return ended
  }

  /** Loads the code of live sessions, which a server needs only once a session is used. */
  async loadCode(): Promise<typeof LiveSession> {
    this.#liveSessions ??= import('./live-session.ts').then((loaded) => loaded.LiveSession)
    this.#LiveSession ??= await this.#liveSessions
    return this.#LiveSession
  }

  /** Adds a session that this process has just created. `loadCode` must have resolved before. */
  add(state: SessionState): LiveSession {
    const session = this.#live(state, this.#services.ownership.firstTerm)
    void this.#add(state.id, Promise.resolve(session))
    return session
  }

  #live(state: SessionState, term: number | undefined): LiveSession {
    this.#followed.leave(state.id)
    if (term !== undefined) this.#terms.set(state.id, term)
    const lost = () => {
      this.#giveUp(state.id, session).catch((error) =>
        problem({ error, doing: 'abandon a session', sessionId: state.id }),
      )
    }
    const { problem } = this.#services
    const store = fencedStore(this.#services.store, term, lost)
    if (!this.#LiveSession)
      throw new ParleyError('internal_error', 'The code of live sessions is not loaded.')
    const session = new this.#LiveSession({ ...this.#services, store }, state, this)
    return session
  }

  startAhead(sessionId: string): void {
    this.open(sessionId)
      .then((session) => session.startAhead())
      .catch((error) =>
        this.#services.problem({ error, doing: 'start an agent before its first prompt', sessionId }),
      )
  }

  /**
   * Recovers the sessions that a restart of this process, or the end of another process, interrupted. Returns the
   * number of these sessions that were not open here.
   */
  async recoverAll(): Promise<number> {
    const tried = new Set<string>()
    let taken = 0
    for (;;) {
      const adopted = await this.#services.ownership.adopt(adoptedAtOnce)
      // `adopt` also returns sessions that could not be recovered and were released: the loop ends if none is new.
      const fresh = adopted.filter(({ sessionId }) => !tried.has(sessionId))
      for (const { sessionId } of fresh) tried.add(sessionId)
      taken += fresh.filter(({ sessionId }) => !this.#sessions.has(sessionId)).length
      await Promise.all(adopted.map(({ sessionId }) => this.#recover(sessionId)))
      if (fresh.length === 0) return taken
    }
  }

  /** If other processes could own the session, a session that cannot be recovered is released, and adopted again later. */
  async #recover(sessionId: string): Promise<void> {
    try {
      const session = await this.open(sessionId)
      await session.recover().catch(async (error) => {
        if (!this.#isSole) await this.#giveUp(sessionId, session)
        throw error
      })
    } catch (error) {
      this.#services.problem({ error, doing: 'recover a session', sessionId })
    }
  }

  async #giveUp(sessionId: string, session: LiveSession): Promise<void> {
    void this.forgetOnly(sessionId, session)
    await session.abandon()
  }

  /** Drops every session at once, because this process no longer owns any session. */
  abandonAll(): void {
    for (const [sessionId, session] of [...this.#sessions]) {
      this.#terms.delete(sessionId)
      this.forget(sessionId)
      session.then((loaded) => loaded.abandon()).catch(() => undefined)
    }
  }

  #add(sessionId: string, session: Promise<LiveSession>): Promise<LiveSession> {
    this.#sessions.set(sessionId, session)
    this.#usedAt.set(sessionId, this.#services.clock.now())
    session.catch(() => this.#sessions.get(sessionId) === session && this.forget(sessionId))
    this.#sweepLater()
    return session
  }

  forget(sessionId: string): void {
    const wasOpen = this.#sessions.delete(sessionId)
    this.#usedAt.delete(sessionId)
    if (!wasOpen) return
    this.#release(sessionId)
    this.#services.observer.left(sessionId)
    void this.removeTemporaryFolder(sessionId)
  }

  #release(sessionId: string): void {
    const { ownership, problem } = this.#services
    const term = this.#terms.get(sessionId)
    this.#terms.delete(sessionId)
    if (term === undefined) return
    ownership
      .release(sessionId, term)
      .catch((error) => problem({ error, doing: 'release a session', sessionId }))
  }

  async removeTemporaryFolder(sessionId: string): Promise<void> {
    const { temporaryFolders, problem } = this.#services
    await temporaryFolders
      .remove(sessionId)
      .catch((error) => problem({ error, doing: 'remove a temporary folder', sessionId }))
  }

  /** Drops this session object, but not another object that was loaded under the same id. */
  async forgetOnly(sessionId: string, session: LiveSession): Promise<void> {
    const open = this.#sessions.get(sessionId)
    const isSame = (await open?.catch(() => undefined)) === session
    if (isSame && this.#sessions.get(sessionId) === open) this.forget(sessionId)
  }

  /**
   * Deletes a session with `work`, unless `isDue` returns false. The session cannot be opened meanwhile.
   * Afterwards it is no longer in memory, whether or not the deletion succeeds. Returns whether `work` was done.
   */
  async delete(
    sessionId: string,
    work: (session: LiveSession) => Promise<void>,
    isDue: (state: SessionState) => boolean = () => true,
  ): Promise<boolean> {
    const whenDue = async (session: LiveSession) => {
      if (!isDue(session.state)) return false
      await work(session)
      return true
    }
    const session = await this.open(sessionId).catch(unlessAwaited)
    if (!session) return this.record(sessionId, whenDue)
    if (!isDue(session.state)) return false
    this.#deleting.add(sessionId)
    try {
      await work(session)
      return true
    } finally {
      this.forget(sessionId)
      this.#deleting.delete(sessionId)
    }
  }

  /** Rewrites the log of a session with `change`, which gets the term. Opening the session waits until that is done. */
  async rewrite(sessionId: string, change: (term: number | undefined) => Promise<void>): Promise<void> {
    const session = await this.open(sessionId)
    const term = this.#terms.get(sessionId)
    const rewriting = session
      .rewrite(async () => {
        this.#rewriting.set(sessionId, rewriting)
        await change(term)
      })
      .finally(() => {
        if (session.log.closed) this.forget(sessionId)
        this.#rewriting.delete(sessionId)
      })
    await rewriting
  }

  each(work: (session: LiveSession) => void): void {
    for (const session of this.#sessions.values()) session.then(work).catch(() => undefined)
  }

  /** Refuses to open sessions from now on. */
  shut(): void {
    this.#closing = true
    this.#stopSweep?.()
    this.#followed.leaveAll()
  }

  async stopAll(): Promise<void> {
    const all = await Promise.allSettled(this.#sessions.values())
    await Promise.all(
      all.map((session) => (session.status === 'fulfilled' ? session.value.stop() : undefined)),
    )
    for (const id of [...this.#sessions.keys()]) this.forget(id)
  }

  /**
   * Removes unused sessions from memory after a while, except those that were opened lately: a caller that just got a
   * session is about to use it.
   */
  #sweepLater(): void {
    const { clock, limits } = this.#services
    this.#stopSweep ??= clock.after(limits.unloadMs, () => void this.#sweep(), { background: true })
  }

  async #sweep(): Promise<void> {
    const { clock, limits } = this.#services
    this.#stopSweep = undefined
    for (const [id, session] of this.#sessions) {
      const loaded = await session.catch(() => undefined)
      const unused = clock.now() - (this.#usedAt.get(id) ?? 0) >= limits.unloadMs
      if (unused && loaded?.quiet) this.forget(id)
    }
    if (this.#sessions.size > 0 && !this.#closing) this.#sweepLater()
  }
}
