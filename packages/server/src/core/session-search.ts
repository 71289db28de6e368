import type { Limits, SearchKind, SearchPage } from '@parley/protocol'

export type SearchQuery = {
  /** The words to find; the last word may be incomplete. */
  readonly q: string
  readonly in?: readonly SearchKind[]
  readonly agent?: string
  readonly session?: string
  /** Sessions in this folder or below it. */
  readonly folder?: string
  /** Only sessions that a caller with these limits may use. */
  readonly within?: Limits
  readonly limit: number
  readonly cursor?: string
}

/** Searches the text of all sessions. */
export type SessionSearch = {
  /** Rejects with ParleyError `not_supported` if this host has no index. */
  search(query: SearchQuery): Promise<SearchPage>
}
