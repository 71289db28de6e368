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
  const sessions = await summariesOf(store, page.hits)
  const hits = await Promise.all(page.hits.map((hit) => hitOf(store, hit, words, sessions.get(hit.session))))
  return { hits: hits.filter((hit) => hit !== undefined), ...defined({ cursor: page.cursor }) }
}

async function summariesOf(
  store: Store,
  hits: readonly IndexHit[],
): Promise<ReadonlyMap<string, SessionSummary>> {
  const summaries = new Map<string, SessionSummary>()
  for (const sessionId of new Set(hits.map(({ session }) => session))) {
    const record = await store.load(sessionId)
    if (!record) continue
    const { state, place, isAwaited } = record
    summaries.set(sessionId, {
      ...summarise(state),
      ...defined({ place, awaits: isAwaited ? place : undefined }),
    })
  }
  return summaries
}

/** Undefined if the session was deleted or its log was rewritten after it was indexed. */
async function hitOf(
  store: Store,
  { session: sessionId, seq }: IndexHit,
  words: readonly string[],
  session: SessionSummary | undefined,
): Promise<SearchHit | undefined> {
  if (!session) return undefined
  const [stored] = await store.read(sessionId, { after: seq - 1, limit: 1 })
  if (stored?.seq !== seq || stored.damaged) return undefined
  const event = JSON.parse(stored.json) as SessionEvent
  const found = searchableText(event)
  if (!found) return undefined
  return { seq, at: event.at, kind: found.kind, ...excerptOf(found.text, words), session }
}

function badCursor(): ParleyError {
  return new ParleyError('validation_error', 'The cursor is invalid. Use one that a search returned.')
}
