/** A session that a caller may continue. */
export type KnownSession = {
  readonly sessionId: string
  /**
   * The last turn whose reply the caller received. If another turn has followed, the caller's history is
   * incomplete.
   */
  readonly turnId: string
  /** Settings that the agent refused and that are added to the prompt instead. */
  readonly refused: readonly string[]
}

/**
 * The sessions by the fingerprint of their history. Only the latest history of a session is kept, so a caller that
 * returns to an earlier point of a history gets another session. The map is bounded and kept in memory only. A history
 * that is not in the map is sent to a new session.
 */
export class KnownSessions {
  readonly #max: number
  readonly #forgotten: (sessionId: string) => void
  readonly #byFingerprint = new Map<string, KnownSession>()
  readonly #fingerprints = new Map<string, string>()

  constructor(max: number, forgotten: (sessionId: string) => void) {
    this.#max = max
    this.#forgotten = forgotten
  }

  remember(session: KnownSession, fingerprint: string): void {
    this.#forget(session.sessionId)
    // Two sessions of one person with the same history are interchangeable, so only one of them is kept.
    const other = this.#byFingerprint.get(fingerprint)
    if (other) this.#evict(other.sessionId)
    this.#byFingerprint.set(fingerprint, session)
    this.#fingerprints.set(session.sessionId, fingerprint)
    const [oldest] = this.#fingerprints.keys()
    if (this.#fingerprints.size > this.#max && oldest !== undefined) this.#evict(oldest)
  }

  /** Returns and removes the session: its history is about to change. */
  take(fingerprint: string): KnownSession | undefined {
    const session = this.#byFingerprint.get(fingerprint)
    if (session) this.#forget(session.sessionId)
    return session
  }

  #evict(sessionId: string): void {
    this.#forget(sessionId)
    this.#forgotten(sessionId)
  }

  #forget(sessionId: string): void {
    const fingerprint = this.#fingerprints.get(sessionId)
    if (fingerprint !== undefined) this.#byFingerprint.delete(fingerprint)
    this.#fingerprints.delete(sessionId)
  }
}
