import type { SessionEvent } from '@parley/protocol'
import type { ReadRange, SessionStore, StoredEvent } from './session-store.ts'

/**
 * Events that can be sent to readers. An event that the store can no longer read is replaced by a notice with the
 * same seq, so readers see that one event is missing.
 */
export async function readEvents(
  store: Pick<SessionStore, 'read'>,
  sessionId: string,
  range: ReadRange,
): Promise<StoredEvent[]> {
  const events = await store.read(sessionId, range)
  return events.some(({ damaged }) => damaged)
    ? events.map((event) => (event.damaged && !isJson(event.json) ? gap(sessionId, event) : event))
    : events
}

/**
 * True if an event that the store marked as damaged is valid JSON: a store may be stricter, for example about
 * nesting.
 */
function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

function gap(sessionId: string, { seq, json }: StoredEvent): StoredEvent {
  const event: SessionEvent = {
    seq,
    at: Number(/"at":(\d{1,15})[,}]/.exec(json.slice(0, 100))?.[1] ?? 0),
    sessionId,
    type: 'agent.noticed',
    level: 'error',
    code: 'event-unreadable',
    text: `Event ${seq} cannot be read from the database: its row is damaged. The other events are intact.`,
  }
  return { seq, json: JSON.stringify(event) }
}
