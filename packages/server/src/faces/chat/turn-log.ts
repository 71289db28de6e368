import { isKnown, type SessionEvent, type SessionState, type UnknownEvent } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import type { StoredEvent } from '../../core/session-store.ts'

const pageSize = 1000

/** The seq of a turn's first event. */
export function turnStart(host: Host, state: SessionState, turnId: string): Promise<number | undefined> {
  return findLast(
    host,
    state,
    (event) => event.type === 'turn.started' && event.turnId === turnId,
    'turn.started',
  )
}

export async function hasPrompt(host: Host, state: SessionState, messageId: string): Promise<boolean> {
  const isIt = (event: AnyEvent) => event.type === 'prompt.submitted' && event.messageId === messageId
  return (await findLast(host, state, isIt, 'prompt.submitted')) !== undefined
}

type AnyEvent = SessionEvent | UnknownEvent

/** Searches from the end of the log, because the event is recent. Parses only events whose JSON contains the type. */
async function findLast(
  host: Host,
  { id, seq }: SessionState,
  isIt: (event: AnyEvent) => boolean,
  type: string,
): Promise<number | undefined> {
  const word = JSON.stringify(type)
  for (let before = seq + 1; before > 1; ) {
    const { events } = await host.read(id, { before, limit: pageSize })
    const found = events.findLast(({ json }) => json.includes(word) && isIt(JSON.parse(json)))
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

function eventOf({ json }: StoredEvent): AnyEvent {
  return JSON.parse(json)
}
