import { hasCode, type SearchHit } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'

export type TextFilter = { readonly agent?: string; readonly folder?: string }

export type TextSearch = {
  readonly hits: readonly SearchHit[]
  readonly searching: boolean
  readonly hasMore: boolean
  /** The number of sessions that are not completely indexed yet. */
  readonly pending: number
  readonly problem?: string
}

const noResults: TextSearch = { hits: [], searching: false, hasMore: false, pending: 0 }
/** The pause in typing after which the search starts, longer than the usual time between two keystrokes. */
const debounceMs = 120
/** The minimum length of a query: too many words begin with the same letter. */
const shortest = 2

/** Searches the text of all sessions while a person types. A new query aborts the previous one. */
export function useTextSearch(typed: string, { agent, folder }: TextFilter = {}, limit = 12): TextSearch {
  const [found, setFound] = useState(noResults)
  const query = typed.trim().length < shortest ? '' : typed.trimStart()
  useEffect(() => {
    if (query === '') return setFound(noResults)
    return abortable((signal) => {
      setFound((before) => ({ ...before, searching: true }))
      const timer = setTimeout(() => {
        const asked = { q: query, limit, ...(agent && { agent }), ...(folder && { folder }) }
        client.call('search', { query: asked, signal }).then(
          ({ hits, cursor, pending = 0 }) =>
            signal.aborted || setFound({ hits, pending, searching: false, hasMore: cursor !== undefined }),
          (thrown: unknown) => signal.aborted || setFound(failed(thrown)),
        )
      }, debounceMs)
      signal.addEventListener('abort', () => clearTimeout(timer))
    })
  }, [query, agent, folder, limit])
  return found
}

/** A server inside another program may have no search. */
function failed(thrown: unknown): TextSearch {
  return hasCode(thrown, 'not_supported') ? noResults : { ...noResults, problem: errorText(thrown) }
}
