import { isKnown, type SessionEvent, type SessionState, type UnknownEvent } from '@parley/protocol'
import type { Host } from '../../core/host.ts'
import type { StoredEvent } from '../../core/session-store.ts'

const pageSize = 1000

/** The seq at which a turn began, looked for from the head down: turns that are asked for are recent. */
export async function turnStart(
  host: Host,
  { id, seq }: SessionState,
  turnId: string,
): Promise<number | undefined> {
  for (let before = seq + 1; before > 1; ) {
    const { events } = await host.read(id, { before, limit: pageSize })
    const found = events.findLast(({ json }) => isStartOf(json, turnId))
    if (found) return found.seq
    before = events[0]?.seq ?? 1
  }
  return undefined
}

export async function* eventsFrom(host: Host, sessionId: string, seq: number): AsyncGenerator<SessionEvent> {
  for (let after = seq - 1; ; ) {
    const { events, head } = await host.read(sessionId, { after, limit: pageSize })
    for (const stored of events) {
      const event = eventOf(stored)
      if (isKnown(event)) yield event
    }
    after = events.at(-1)?.seq ?? head
    if (after >= head) return
  }
}

function eventOf({ json }: StoredEvent): SessionEvent | UnknownEvent {
  return JSON.parse(json)
}

/** Most events need not be parsed to see that they are something else. */
function isStartOf(json: string, turnId: string): boolean {
  if (!json.includes('"turn.started"')) return false
  const event = JSON.parse(json) as SessionEvent | UnknownEvent
  return event.type === 'turn.started' && event.turnId === turnId
}
