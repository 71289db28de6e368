import { hasCode, type ParleyError } from '@parley/protocol'

/**
 * PORT. Decides which process may write a session. Rules:
 * - at most one process owns a session. Reading needs no owner.
 * - each change of the owner raises the term of the session. The store refuses a write with an older term
 *   (ParleyError `conflict`), and writes nothing.
 * - a process that can no longer prove that it is alive loses all its sessions. It is notified before any other
 *   process can claim one, unless it was paused or cut off.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 */
export type SessionOwnership = {
  /** The place of this process. Absent if no other process can write to the store. */
  readonly place?: string
  /**
   * A secret that identifies this process as an owner. Undefined while the process cannot own sessions. It changes
   * when all sessions were lost.
   */
  readonly mark?: string | undefined
  /** The term of a session that this process has just created. Absent if no other process can write to the store. */
  readonly firstTerm?: number
  /** Makes this process the owner of a session that no living process owns. The session must exist. */
  claim(sessionId: string): Promise<Claim>
  /**
   * Makes this process the caretaker of a session whose folder is at another place, where no process is alive. A
   * caretaker owns the session, but neither runs its agent nor uses its folder. A process at that place can claim the
   * session at any time, even from a living caretaker. Absent if no other process can write to the store.
   */
  takeCare?(sessionId: string): Promise<Claim>
  /** Gives a session up, so that any process can claim it at once. Does nothing if `term` is not the current term. */
  release(sessionId: string, term: number): Promise<void>
  /**
   * Claims up to `limit` sessions that have work left and whose owner is gone or has released them. Each is returned
   * to one process only.
   */
  adopt(limit: number): Promise<OwnedSession[]>
  /** Calls the listener when this process has lost all its sessions. Their agents must be killed at once. */
  onLost(listener: () => void): void
  /** Gives up every session of this process. */
  close(): Promise<void>
}

/**
 * `term` is absent if no other process can write to the store. `former` is the mark of the process that owned the
 * session before, if it is gone: its agent may still run.
 */
export type OwnedSession = { readonly sessionId: string; readonly term?: number; readonly former?: string }

/**
 * True if an operation failed only because the storage cannot be reached now, or because this process could not prove
 * in time that it is alive. Such failures occur in large numbers, so they are reported once.
 */
export function isOutage(thrown: unknown): thrown is ParleyError {
  if (!hasCode(thrown, 'busy')) return false
  return thrown.details?.postgres !== undefined || thrown.details?.isJoining === true
}

export type Claim =
  /** `awaits` is the place of the session if this process is only its caretaker. */
  | ({ readonly type: 'owned'; readonly awaits?: string } & OwnedSession)
  /** Another process owns the session, and can be reached at this address. */
  | { readonly type: 'elsewhere'; readonly url: string; readonly term: number }
  /** The folder of the session is at another place, where no process is alive. */
  | { readonly type: 'awaited'; readonly place: string; readonly machine?: string | undefined }

/**
 * The ownership for a store that only this process can open. The process owns every session; sessions with work left
 * are adopted once.
 */
export function createSoleOwnership(store: { unsettled(): Promise<string[]> }): SessionOwnership {
  const adopted = new Set<string>()
  return {
    claim: async (sessionId) => ({ type: 'owned', sessionId }),
    release: async () => undefined,
    async adopt(limit) {
      const left = (await store.unsettled()).filter((sessionId) => !adopted.has(sessionId)).slice(0, limit)
      for (const sessionId of left) adopted.add(sessionId)
      return left.map((sessionId) => ({ sessionId }))
    },
    onLost: () => undefined,
    close: async () => undefined,
  }
}
