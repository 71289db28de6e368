import { isKnown, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import type { SessionRecord, SessionStore, StoredEvent } from '../core/session-store.ts'
import { type Alert, findAlerts, mayMatter } from './find-alerts.ts'

const pageSize = 500

export type Searched = { readonly alerts: readonly Alert[]; readonly to: number }

/**
 * Searches the log of a session for alerts after a cursor. Without a cursor, the log was never searched: then only
 * events that were recorded after `since` cause alerts, and copied or imported events cause none.
 */
export async function searchLog(
  store: Pick<SessionStore, 'read'>,
  { state, head }: SessionRecord,
  { from, since }: { readonly from: number | undefined; readonly since: number },
): Promise<Searched> {
  const { id, title, agent, forkedFrom, importedFrom } = state
  const session = { id, title, agent }
  if (from !== undefined)
    return { alerts: findAlerts(await eventsAfter(store, id, from, head), session), to: head }
  if (forkedFrom) {
    const events = await eventsAfter(store, id, forkedFrom.seq, head)
    return { alerts: findAlerts(recordedAfter(events, since), session, { isCopy: true }), to: head }
  }
  const events = importedFrom
    ? withoutImported(await eventsAfter(store, id, 0, head))
    : await latestEvents(store, id, { since, head })
  return { alerts: findAlerts(recordedAfter(events, since), session), to: head }
}

type Event = SessionEvent | UnknownEvent

/** The events up to `to` that match `mayMatter`, in order. */
async function eventsAfter(
  store: Pick<SessionStore, 'read'>,
  sessionId: string,
  after: number,
  to: number,
): Promise<Event[]> {
  const events: Event[] = []
  for (let cursor = after; cursor < to; ) {
    const page = await store.read(sessionId, { after: cursor, limit: Math.min(pageSize, to - cursor) })
    events.push(...page.flatMap(parsed))
    const last = page.at(-1)?.seq
    if (last === undefined) break
    cursor = last
  }
  return events
}

/** The last events of a log: all that were recorded after `since`, and some before. */
async function latestEvents(
  store: Pick<SessionStore, 'read'>,
  sessionId: string,
  { since, head }: { readonly since: number; readonly head: number },
): Promise<Event[]> {
  let events: Event[] = []
  for (let before = head + 1; before > 1; ) {
    const page = await store.read(sessionId, { before, limit: pageSize })
    const [first] = page
    if (!first) break
    events = [...page.flatMap(parsed), ...events]
    before = first.seq
    if (timeOf(first) <= since) break
  }
  return events
}

/** The parsed event. Empty if its text is damaged or does not match `mayMatter`. */
function parsed({ json, damaged }: StoredEvent): Event[] {
  if (damaged || !mayMatter.test(json.slice(0, 500))) return []
  try {
    return [JSON.parse(json) as Event]
  } catch {
    return []
  }
}

function timeOf({ json }: StoredEvent): number {
  return Number(/"at":(\d+)/.exec(json.slice(0, 100))?.[1] ?? 0)
}

function recordedAfter(events: readonly Event[], since: number): Event[] {
  return events.filter(({ at }) => at > since)
}

/** The events after the imported conversation. The import ends with the first `agent.disconnected`. */
function withoutImported(events: readonly Event[]): Event[] {
  const end = events.findIndex((event) => isKnown(event) && event.type === 'agent.disconnected')
  return end < 0 ? [] : events.slice(end + 1)
}
