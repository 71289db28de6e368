import type { Limits, SearchKind } from '@parley/protocol'

/**
 * PORT. An index of the words in the events of sessions. It is derived from the logs and can be built again at any
 * time. Rules:
 * - `add` adds the entries and moves the cursor of the session, both or neither. Returns false, without an effect, if
 *   the cursor is not `from`: of several processes that index the same events, one succeeds.
 * - `remove` removes all entries and the cursor of a session. When it resolves, searches no longer find the words of
 *   the session.
 * - `find` returns the entries that were added last first. It compares words exactly: the caller normalises entries
 *   and queries in the same way.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 */
export type SearchIndex = {
  cursor(sessionId: string): Promise<IndexCursor | undefined>
  /** The cursors of all sessions that were indexed, by session. */
  cursors(): Promise<ReadonlyMap<string, IndexCursor>>
  add(step: IndexStep): Promise<boolean>
  remove(sessionId: string): Promise<void>
  find(query: IndexQuery): Promise<IndexPage>
  close(): Promise<void>
}

/** The events of a session up to `seq`, in the log of this epoch, are indexed. */
export type IndexCursor = { readonly epoch: string; readonly seq: number }

export type IndexStep = {
  readonly session: string
  readonly agent: string
  readonly folder: string
  readonly from: IndexCursor | undefined
  readonly to: IndexCursor
  readonly entries: readonly IndexEntry[]
}

export type IndexEntry = {
  readonly seq: number
  readonly kind: SearchKind
  /** Normalised words, separated by spaces. */
  readonly words: string
}

export type IndexQuery = {
  /**
   * An entry matches if it contains all of these words. A word with characters other than letters and digits matches
   * no entry.
   */
  readonly words: readonly string[]
  /** True if the last word also matches longer words that start with it. */
  readonly isLastPrefix: boolean
  readonly kinds?: readonly SearchKind[]
  readonly agent?: string
  readonly session?: string
  /** Only sessions whose folder is this folder or a folder below it. */
  readonly folder?: string
  /** Only sessions that a caller with these limits may use. */
  readonly within?: Limits
  readonly limit: number
  readonly cursor?: string
}

export type IndexHit = {
  readonly session: string
  readonly seq: number
  readonly kind: SearchKind
}

export type IndexPage = {
  readonly hits: readonly IndexHit[]
  readonly cursor?: string
}
