import type { SearchKind, SearchPage } from '@parley/protocol'

export type SearchQuery = {
  /** The words to find; the last word may be incomplete. */
  readonly q: string
  readonly in?: readonly SearchKind[]
  readonly agent?: string
  readonly session?: string
  /** Sessions in this folder or below it. */
  readonly folder?: string
  readonly limit: number
  readonly cursor?: string
}

/** Searches the text of all sessions. */
export type SessionSearch = {
  /** Rejects with ParleyError `not_supported` if this host has no index. */
  search(query: SearchQuery): Promise<SearchPage>
}
