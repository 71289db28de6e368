import {
  defined,
  ParleyError,
  type SearchHit,
  type SearchPage,
  type SessionEvent,
  type SessionSummary,
  summarise,
} from '@parley/protocol'
import type { SearchQuery } from '../core/index.ts'
import type { IndexHit, SearchIndex } from '../core/search-index.ts'
import type { SessionStore } from '../core/session-store.ts'
import { excerptOf } from './excerpt.ts'
import { searchableText } from './searchable-text.ts'
import { queryWords } from './words.ts'

type Store = Pick<SessionStore, 'load' | 'read'>

/** The events that match a query. Their text is read from the logs, so it is never older than the log. */
export async function findText(store: Store, index: SearchIndex, query: SearchQuery): Promise<SearchPage> {
  const { q, in: kinds, limit, cursor } = query
  const words = queryWords(q)
  if (cursor !== undefined && !/^\d{1,16}$/.test(cursor)) throw badCursor()
  if (words.length === 0) return { hits: [] }
  const { agent, session, folder, within } = query
  const page = await index.find({
    words,
    isLastPrefix: !/\s$/.test(q),
    limit,
    ...defined({ kinds, agent, session, folder, within, cursor }),
  })
  const [sessions, found] = await Promise.all([
    summariesOf(store, page.hits),
    Promise.all(page.hits.map((hit) => textOf(store, hit))),
  ])
  const hits = page.hits.flatMap(({ session: sessionId, seq }, index): SearchHit[] => {
    const [session, event] = [sessions.get(sessionId), found[index]]
    if (!session || !event) return []
    const { at, kind, text } = event
    return [{ seq, at, kind, ...excerptOf(text, words), session }]
  })
  return { hits, ...defined({ cursor: page.cursor }) }
}

/** The sessions of the hits that exist. */
async function summariesOf(
  store: Store,
  hits: readonly IndexHit[],
): Promise<ReadonlyMap<string, SessionSummary>> {
  const ids = [...new Set(hits.map(({ session }) => session))]
  const records = await Promise.all(ids.map((sessionId) => store.load(sessionId)))
  return new Map(
    records.flatMap((record, index): [string, SessionSummary][] => {
      if (!record) return []
      const { state, place, isAwaited } = record
      const summary = { ...summarise(state), ...defined({ place, awaits: isAwaited ? place : undefined }) }
      return [[ids[index] ?? '', summary]]
    }),
  )
}

/** Undefined if the session was deleted or its log was rewritten after it was indexed. */
async function textOf(store: Store, { session, seq }: IndexHit) {
  const [stored] = await store.read(session, { after: seq - 1, limit: 1 })
  if (stored?.seq !== seq || stored.damaged) return undefined
  const event = JSON.parse(stored.json) as SessionEvent
  const found = searchableText(event)
  return found && { ...found, at: event.at }
}

function badCursor(): ParleyError {
  return new ParleyError('validation_error', 'The cursor is invalid. Use one that a search returned.')
}
