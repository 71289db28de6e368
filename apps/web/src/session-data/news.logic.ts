import { type SessionSummary, visible, type WaitingRequest } from '@parley/protocol'
import type { Route } from '../base/route.logic.ts'
import { failureText } from './failure-text.logic.ts'

/** A notification for the person. `key` is the same in every tab, so that only one tab shows the notification. */
export type News = {
  readonly key: string
  readonly sessionId: string
  readonly title: string
  readonly text: string
}

/**
 * The notifications of requests that are not in `before`. Empty if `before` is undefined: requests that were open when
 * the page loaded are not reported.
 */
export function newRequests(
  before: ReadonlySet<string> | undefined,
  requests: readonly WaitingRequest[],
): readonly News[] {
  if (!before) return []
  return requests
    .filter(({ request }) => !before.has(request.requestId))
    .map(({ session, request }) => ({
      key: request.requestId,
      sessionId: session.id,
      title: `${session.title || 'A session'} needs your answer`,
      text: request.type === 'permission' ? request.title : (request.questions[0]?.text ?? 'A question'),
    }))
}

type Known = ReadonlyMap<string, Pick<SessionSummary, 'status' | 'seq'>>

/** Sessions that were working and have stopped. A session without an earlier state is not reported. */
export function endedTurns(before: Known | undefined, sessions: readonly SessionSummary[]): readonly News[] {
  if (!before) return []
  return sessions
    .filter((session) => {
      const was = before.get(session.id)
      return was !== undefined && was.status !== 'idle' && session.status === 'idle'
    })
    .map((session) => ({
      key: `end:${session.id}:${session.seq}`,
      sessionId: session.id,
      title: session.title || 'A session',
      text: endOf(session),
    }))
}

function endOf(session: SessionSummary): string {
  const failed = failureText(session)
  if (failed === undefined) return 'Turn finished.'
  return session.failure?.message ? `${failed}: ${session.failure.message}` : `${failed}.`
}

const places: Partial<Record<Route['name'], string>> = {
  new: 'New session',
  inbox: 'Inbox',
  import: 'Import a session',
  settings: 'Settings',
  round: 'Round',
  nowhere: 'Not found',
}

/** The name of a route in the tab title; a session is named by its title. */
export function placeName(route: Route, sessionTitle: string | undefined): string {
  return route.name === 'session' ? visible(sessionTitle ?? '') : (places[route.name] ?? '')
}

/** The title of the page: the number of open requests, then the name of the route. */
export function pageTitle(waiting: number, place: string): string {
  return `${waiting > 0 ? `(${waiting}) ` : ''}${place === '' ? 'Parley' : `${place} · Parley`}`
}
