import { DatabaseSync } from 'node:sqlite'
import { type EventOf, isKnown, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import { eventTextOf } from './event-text.ts'
import { eventIds } from './sqlite-events.ts'

/** Each session is read from its first event on, so the number of sessions limits the time. */
const maxSessions = 200

type SessionRow = { readonly key: number; readonly id: string; readonly agent: string }

/** The messages of agents that were not understood since this time, in the sessions that changed last. */
export function* unrecognisedIn(
  file: string,
  since: number,
): Generator<{ readonly agent: string; readonly event: EventOf<'agent.unrecognised'> }> {
  using database = new DatabaseSync(file)
  const sessions = database
    .prepare('SELECT key, id, agent FROM sessions WHERE updated_at >= ? ORDER BY updated_at DESC LIMIT ?')
    .all(since, maxSessions) as unknown as SessionRow[]
  const bodies = database.prepare(
    "SELECT id, body FROM events WHERE id > ? AND id < ? AND instr(body, 'agent.unrecognised') > 0",
  )
  for (const { key, id, agent } of sessions) {
    const [above, below] = eventIds(key)
    for (const row of bodies.iterate(above, below)) {
      const event = eventIn(id, Number(row.id) - above, row.body)
      if (event?.type === 'agent.unrecognised' && event.at >= since) yield { agent, event }
    }
  }
}

/** Undefined for a damaged event, and for an event of a later version of Parley. */
function eventIn(sessionId: string, seq: number, body: unknown): SessionEvent | undefined {
  try {
    const json = eventTextOf(sessionId).unpack(seq, String(body))
    const event = JSON.parse(json) as SessionEvent | UnknownEvent
    return isKnown(event) ? event : undefined
  } catch {
    return undefined
  }
}
