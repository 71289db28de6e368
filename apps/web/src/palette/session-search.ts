import type { SessionSummary } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import type { TextFilter } from '../session-data/text-search.ts'

export type SessionSearch = {
  readonly sessions: readonly SessionSummary[]
  readonly searching: boolean
  /** More sessions match than the limit. */
  readonly hasMore: boolean
  readonly problem?: string
}

const noResults: SessionSearch = { sessions: [], searching: false, hasMore: false }
/** The pause in typing after which the search starts, longer than the usual time between two keystrokes. */
const debounceMs = 120
const limit = 40

/** Searches all sessions, including archived ones, by title, folder and agent. A new query aborts the previous one. */
export function useSessionSearch(query: string, { agent }: TextFilter): SessionSearch {
  const [found, setFound] = useState(noResults)
  useEffect(() => {
    if (query === '') return setFound(noResults)
    const controller = new AbortController()
    const { signal } = controller
    setFound((before) => ({ ...before, searching: true }))
    const timer = setTimeout(() => {
      client
        .call('listSessions', {
          query: { q: query, archived: 'all', limit, ...(agent && { agent }) },
          signal,
        })
        .then(
          ({ sessions, cursor }) =>
            signal.aborted || setFound({ sessions, searching: false, hasMore: cursor !== undefined }),
          (thrown: unknown) => signal.aborted || setFound({ ...noResults, problem: errorText(thrown) }),
        )
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [query, agent])
  return found
}
