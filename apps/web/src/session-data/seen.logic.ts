import type { SessionSummary } from '@parley/protocol'

/**
 * The time at which each session was last seen in this browser. Changes before `since`, the browser's first visit,
 * count as seen.
 */
export type Seen = { readonly since: number; readonly at: Readonly<Record<string, number>> }

const maxSessions = 500

type Read = Pick<SessionSummary, 'id' | 'createdAt' | 'updatedAt' | 'status'>

/**
 * True if the session has changed since it was last seen. False for a working session, and for a session that has not
 * changed since it was created.
 */
export function isUnread(session: Read, seen: Seen): boolean {
  if (session.status === 'working' || session.updatedAt <= session.createdAt) return false
  return session.updatedAt > (seen.at[session.id] ?? seen.since)
}

export function withSeen(seen: Seen, id: string, at: number): Seen {
  if ((seen.at[id] ?? 0) >= at) return seen
  const entries = Object.entries({ ...seen.at, [id]: at })
  const newest =
    entries.length > maxSessions ? entries.toSorted((a, b) => b[1] - a[1]).slice(0, maxSessions) : entries
  return { ...seen, at: Object.fromEntries(newest) }
}
