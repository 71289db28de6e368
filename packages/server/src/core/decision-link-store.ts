import type { LinkDecision } from '@parley/protocol'

/** A decision link. Its code is not stored: `hash` is the SHA-256 of the code. */
export type DecisionLinkRecord = {
  readonly id: string
  readonly hash: string
  readonly session: string
  readonly request: string
  readonly inputHash: string
  readonly decisions: readonly LinkDecision[]
  readonly name: string
  readonly createdBy: {
    readonly personId: string
    /** The device or token that created the link. The link is void without it. */
    readonly holder: { readonly kind: 'device' | 'token'; readonly id: string }
  }
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt?: number
  readonly revokedAt?: number
}

/**
 * PORT. Stores decision links, and makes no decisions. Rules:
 * - a change is durable against the death of this process when the promise resolves.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - the links of a session are deleted with the session, and when an event of the session is redacted.
 * - times are milliseconds since 1970 by the clock of the caller.
 */
export type DecisionLinkStore = {
  /**
   * Adds a link. Returns false, without an effect, if `most` links of its request are stored, including used and
   * revoked links.
   */
  addDecisionLink(link: DecisionLinkRecord, most: number): Promise<boolean>
  decisionLink(hash: string): Promise<DecisionLinkRecord | undefined>
  /** The links that are not revoked and that expire after `now`, oldest first. Used links are included. */
  unrevokedDecisionLinks(now: number): Promise<DecisionLinkRecord[]>
  /**
   * Marks a link as used. Returns false if it is unknown, used, revoked, or expired at `at`: of several processes that
   * use a link, exactly one gets true.
   */
  useDecisionLink(hash: string, at: number): Promise<boolean>
  /** Makes a used link usable again. Called when its decision had no effect. */
  releaseDecisionLink(hash: string): Promise<void>
  /**
   * Revokes a link. Returns false if it is unknown or revoked. A used link is revoked too, because its decision may
   * still be refused.
   */
  revokeDecisionLink(id: string, at: number): Promise<boolean>
  /** Deletes the links that expired before this time. */
  pruneDecisionLinks(before: number): Promise<void>
}
