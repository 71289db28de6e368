import { type SessionSummary, visible, type WaitingRequest } from '@parley/protocol'
import { failureWords } from '../sessions/failure-words.logic.ts'
import type { Route } from './route.logic.ts'

/** Something worth calling a person for. `key` is the same in every tab, so that it is told once. */
export type News = {
  readonly key: string
  readonly sessionId: string
  readonly title: string
  readonly text: string
}

/** Requests that were not there before. What waited already when the page came is shown, not called out. */
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

/** Sessions that were seen at work and are not any more. One that is seen for the first time is history. */
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
  const failed = failureWords(session)
  if (failed === undefined) return 'Turn finished.'
  return session.failure?.message ? `${failed}: ${session.failure.message}` : `${failed}.`
}

const places: Partial<Record<Route['name'], string>> = {
  new: 'New session',
  inbox: 'Inbox',
  import: 'Import a session',
  settings: 'Settings',
  nowhere: 'Not found',
}

/** What a place is called in the tab; a session by its title. */
export function placeName(route: Route, sessionTitle: string | undefined): string {
  return route.name === 'session' ? visible(sessionTitle ?? '') : (places[route.name] ?? '')
}

/** The title of the page: how many wait, then where one is. */
export function pageTitle(waiting: number, place: string): string {
  return `${waiting > 0 ? `(${waiting}) ` : ''}${place === '' ? 'Parley' : `${place} · Parley`}`
}
