/** A session that a caller may come back to. */
export type KnownSession = {
  readonly sessionId: string
  /** The turn whose reply the caller has. If another one followed, the session knows more than the caller. */
  readonly turnId: string
  /** What its agent does not take as a setting, and must be told in words. */
  readonly refused: readonly string[]
}

/**
 * Which histories are those of which sessions. Each session has only its latest: whoever goes back in a history gets a
 * session of its own. Bounded, and kept nowhere: what is forgotten, or was before a restart, is replayed.
 */
export class KnownSessions {
  readonly #most: number
  readonly #forgotten: (sessionId: string) => void
  readonly #byFingerprint = new Map<string, KnownSession>()
  readonly #fingerprints = new Map<string, string>()

  constructor(most: number, forgotten: (sessionId: string) => void) {
    this.#most = most
    this.#forgotten = forgotten
  }

  remember(session: KnownSession, fingerprint: string): void {
    this.#forget(session.sessionId)
    // the same in two sessions, and of one person: they cannot mean both, and either will do
    const other = this.#byFingerprint.get(fingerprint)
    if (other) this.#letGo(other.sessionId)
    this.#byFingerprint.set(fingerprint, session)
    this.#fingerprints.set(session.sessionId, fingerprint)
    const [oldest] = this.#fingerprints.keys()
    if (this.#fingerprints.size > this.#most && oldest !== undefined) this.#letGo(oldest)
  }

  /** Once: who asks goes on with it, and its history is another one then. */
  take(fingerprint: string): KnownSession | undefined {
    const session = this.#byFingerprint.get(fingerprint)
    if (session) this.#forget(session.sessionId)
    return session
  }

  #letGo(sessionId: string): void {
    this.#forget(sessionId)
    this.#forgotten(sessionId)
  }

  #forget(sessionId: string): void {
    const fingerprint = this.#fingerprints.get(sessionId)
    if (fingerprint !== undefined) this.#byFingerprint.delete(fingerprint)
    this.#fingerprints.delete(sessionId)
  }
}
