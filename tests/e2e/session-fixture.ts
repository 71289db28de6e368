import type { Client } from '@parley/client'
import { hasCode, type OpenRequest, type SessionEvent, type SessionState } from '@parley/protocol'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { sleep } from './killable-server.ts'

export { colour, permission } from '../../packages/server/src/core/host-under-test.ts'

/** Helpers for end-to-end tests: the state of a session, its whole log, and scripts with requests. */

export const scripted = (...steps: Script) => JSON.stringify(steps)

/** Resolves with the state as soon as the condition holds for a follower. */
export async function stateWhen(
  client: Client,
  session: string,
  holds: (state: SessionState) => boolean,
): Promise<SessionState> {
  const mirror = client.mirror(session)
  try {
    const { view } = await mirror.until(
      ({ status, view: { state } }) => status === 'live' && holds(state),
      AbortSignal.timeout(20_000),
    )
    return view.state
  } catch (error) {
    const { status, view } = mirror.getSnapshot()
    throw new Error(`${session} is ${status}: ${JSON.stringify(view.state)}`, { cause: error })
  } finally {
    mirror.close()
  }
}

export const isIdle = (state: SessionState) => !state.turn && state.queue.length === 0

export async function logOf(client: Client, session: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (;;) {
    const query = { after: events.length, limit: 5000 }
    const page = await client.call('events', { params: { id: session }, query })
    events.push(...(page.events as SessionEvent[]))
    if (events.length >= page.head) return events
  }
}

export function open<Type extends OpenRequest['type']>(
  state: SessionState,
  type: Type,
): Extract<OpenRequest, { type: Type }> {
  const found = state.requests.filter((request) => request.type === type)
  if (found.length !== 1)
    throw new Error(`${found.length} requests of type ${type}: ${JSON.stringify(state)}`)
  return found[0] as Extract<OpenRequest, { type: Type }>
}

export function eventsOf<Type extends SessionEvent['type']>(
  log: readonly SessionEvent[],
  type: Type,
): Extract<SessionEvent, { type: Type }>[] {
  return log.filter((event): event is Extract<SessionEvent, { type: Type }> => event.type === type)
}

/**
 * Creates a session. Repeats a failed attempt, because a node on a busy machine can be without a lease for a
 * moment.
 */
export async function createSession(client: Client, cwd: string): Promise<string> {
  for (;;) {
    try {
      return (await client.createSession({ agent: 'scripted', cwd })).id
    } catch (error) {
      if (!hasCode(error, 'busy')) throw error
      await sleep(100)
    }
  }
}
