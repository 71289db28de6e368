import type { SessionSummary } from '@parley/protocol'

/** Up to when each session was seen in this browser; `since` is when the browser first came: older news is no news. */
export type Seen = { readonly since: number; readonly at: Readonly<Record<string, number>> }

const mostKept = 500

type Read = Pick<SessionSummary, 'id' | 'createdAt' | 'updatedAt' | 'status'>

/** A session in which nothing has happened since it was made has no news. */
export function isUnread(session: Read, seen: Seen): boolean {
  if (session.status === 'working' || session.updatedAt <= session.createdAt) return false
  return session.updatedAt > (seen.at[session.id] ?? seen.since)
}

export function withSeen(seen: Seen, id: string, at: number): Seen {
  if ((seen.at[id] ?? 0) >= at) return seen
  const entries = Object.entries({ ...seen.at, [id]: at })
  const kept =
    entries.length > mostKept ? entries.toSorted((a, b) => b[1] - a[1]).slice(0, mostKept) : entries
  return { ...seen, at: Object.fromEntries(kept) }
}
