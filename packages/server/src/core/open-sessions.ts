import { ParleyError } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { LiveSession } from './live-session.ts'

/** The sessions in memory. An unused session is removed from memory, and loaded again on use. */
export class OpenSessions {
  readonly #load: (sessionId: string) => Promise<LiveSession>
  readonly #clock: Clock
  readonly #unloadMs: number
  readonly #left: (sessionId: string) => void
  readonly #sessions = new Map<string, Promise<LiveSession>>()
  readonly #usedAt = new Map<string, number>()
  readonly #deleting = new Set<string>()
  #stopSweep: (() => void) | undefined
  #closing = false

  constructor(options: {
    load: (sessionId: string) => Promise<LiveSession>
    clock: Clock
    unloadMs: number
    /** Called for each session that was removed from memory; must not throw. */
    left: (sessionId: string) => void
  }) {
    this.#load = options.load
    this.#clock = options.clock
    this.#unloadMs = options.unloadMs
    this.#left = options.left
  }

  get closing(): boolean {
    return this.#closing
  }

  /** Rejects when the host stops or the session is being deleted. */
  open(sessionId: string): Promise<LiveSession> {
    if (this.#closing) return Promise.reject(stopping())
    if (this.#deleting.has(sessionId)) return Promise.reject(beingDeleted())
    const session = this.#sessions.get(sessionId) ?? this.#add(sessionId, this.#load(sessionId))
    this.#usedAt.set(sessionId, this.#clock.now())
    return session
  }

  /** Adds a session that was just created. */
  add(sessionId: string, session: LiveSession): void {
    void this.#add(sessionId, Promise.resolve(session))
  }

  #add(sessionId: string, session: Promise<LiveSession>): Promise<LiveSession> {
    this.#sessions.set(sessionId, session)
    this.#usedAt.set(sessionId, this.#clock.now())
    session.catch(() => this.forget(sessionId))
    this.#sweepLater()
    return session
  }

  forget(sessionId: string): void {
    const wasOpen = this.#sessions.delete(sessionId)
    this.#usedAt.delete(sessionId)
    if (wasOpen) this.#left(sessionId)
  }

  /** Forgets this session object. Another one that was loaded under the same id stays. */
  async forgetOnly(sessionId: string, session: LiveSession): Promise<void> {
    const open = this.#sessions.get(sessionId)
    const isSame = (await open?.catch(() => undefined)) === session
    if (isSame && this.#sessions.get(sessionId) === open) this.forget(sessionId)
  }

  /**
   * The session cannot be opened while it is deleted; it is out of memory afterwards, whether the deletion succeeds
   * or not.
   */
  async delete(sessionId: string, work: (session: LiveSession) => Promise<void>): Promise<void> {
    const session = await this.open(sessionId)
    this.#deleting.add(sessionId)
    try {
      await work(session)
    } finally {
      this.forget(sessionId)
      this.#deleting.delete(sessionId)
    }
  }

  each(work: (session: LiveSession) => void): void {
    for (const session of this.#sessions.values()) session.then(work).catch(() => undefined)
  }

  /** From now on no session can be opened. */
  shut(): void {
    this.#closing = true
    this.#stopSweep?.()
  }

  async stopAll(): Promise<void> {
    const all = await Promise.allSettled(this.#sessions.values())
    await Promise.all(
      all.map((session) => (session.status === 'fulfilled' ? session.value.stop() : undefined)),
    )
    for (const id of [...this.#sessions.keys()]) this.forget(id)
  }

  /** Removes only sessions that were not opened lately: a caller that just got a session is about to use it. */
  #sweepLater(): void {
    this.#stopSweep ??= this.#clock.after(this.#unloadMs, () => void this.#sweep(), { background: true })
  }

  async #sweep(): Promise<void> {
    this.#stopSweep = undefined
    for (const [id, session] of this.#sessions) {
      const loaded = await session.catch(() => undefined)
      const unused = this.#clock.now() - (this.#usedAt.get(id) ?? 0) >= this.#unloadMs
      if (unused && loaded?.quiet) this.forget(id)
    }
    if (this.#sessions.size > 0 && !this.#closing) this.#sweepLater()
  }
}

function beingDeleted(): ParleyError {
  return new ParleyError('not_found', 'This session is being deleted.')
}

export function stopping(): ParleyError {
  return new ParleyError('busy', 'Parley is stopping. Try again when it is back.')
}
