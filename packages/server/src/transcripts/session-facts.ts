import type { SessionEvent, SessionState } from '@parley/protocol'

/**
 * The data about a session that every message contains. The model is the effective model if known, else the model
 * that the agent reported when it connected, else the requested model.
 */
export class SessionFacts {
  readonly session: string
  agent = ''
  #effective: string | undefined
  #connected: string | undefined
  #requested: string | undefined

  constructor(session: string, state?: SessionState) {
    this.session = session
    if (!state) return
    this.agent = state.agent
    this.#effective = state.effective.model
    this.#connected = state.connection?.model
    this.#requested = state.requested.model
  }

  get model(): string | undefined {
    return this.#effective ?? this.#connected ?? this.#requested
  }

  /** Returns true if the model has changed. */
  take(event: SessionEvent): boolean {
    const before = this.model
    if (event.type === 'session.created') {
      this.agent = event.agent
      this.#requested = event.model
    }
    if (event.type === 'session.configured') {
      this.#requested = event.requested?.model ?? this.#requested
      this.#effective = event.effective?.model ?? this.#effective
    }
    if (event.type === 'agent.connected') this.#connected = event.model ?? this.#connected
    return this.model !== before
  }
}
