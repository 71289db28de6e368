import type { Claim, OwnedSession } from '../../core/session-ownership.ts'
import { machineOf } from './node-rows.ts'

/**
 * The statements in this file change the owner of a session. Each is one statement, so that the database decides
 * races.
 */

/**
 * Sets the owner and a new term. `former_owner` does not change if the owner claims its own session again, or if the
 * owner was a caretaker, because a caretaker runs no agent.
 */
const newOwner = (node: string, isCaretaker = false) =>
  `owner = ${node}, term = s.term + 1, caretaker = ${isCaretaker}, former_owner =
     CASE WHEN s.caretaker THEN s.former_owner ELSE coalesce(nullif(s.owner, ${node}), s.former_owner) END`
/** True if no other living node owns the session. */
const isFree = `(s.owner IS NULL OR s.owner = m.id
  OR EXISTS (SELECT FROM nodes o WHERE o.id = s.owner AND o.fenced_at IS NOT NULL))`
const livingAtPlace = 'SELECT FROM nodes h WHERE h.place = s.place AND h.fenced_at IS NULL'
const formerMark =
  '(SELECT f.mark FROM nodes f WHERE f.id = s.former_owner AND f.fenced_at IS NOT NULL) AS former'

/** Selects the sessions of a place that have work left and that a node of this place must take over. */
export const orphansOf = (place: string, columns = '') =>
  `SELECT ${columns} FROM sessions s LEFT JOIN nodes n ON n.id = s.owner
   WHERE s.unsettled AND s.place = ${place} AND (s.owner IS NULL OR s.caretaker OR n.fenced_at IS NOT NULL)`

/** Claims a session, even from a living caretaker, if this node is at its place. $1: the session, $2: this node. */
export const claimSession = `
  UPDATE sessions s SET ${newOwner('m.id')} FROM nodes m
  WHERE s.id = $1 AND m.id = $2 AND m.fenced_at IS NULL AND s.place = m.place AND (s.caretaker OR ${isFree})
  RETURNING s.term, ${formerMark}`

/** Makes this node the caretaker of a session. $1: the session, $2: this node. */
export const takeCareOfSession = `
  UPDATE sessions s SET ${newOwner('m.id', true)} FROM nodes m
  WHERE s.id = $1 AND m.id = $2 AND m.fenced_at IS NULL AND s.place <> m.place AND ${isFree}
    AND NOT EXISTS (${livingAtPlace})
  RETURNING s.term, s.place`

/** Finds the address of the owner, if it is another node. $1: the session, $2: this node. */
export const findSession = `
  SELECT n.id, n.url, s.term, s.place, ${machineOf('s.place')} AS machine, EXISTS (${livingAtPlace}) AS "isPresent" FROM sessions s
    LEFT JOIN nodes n ON n.id = s.owner AND n.fenced_at IS NULL AND n.id <> $2
  WHERE s.id = $1`

export type FoundSession = {
  /** Null if no other living node owns the session. */
  readonly id: number | null
  readonly url: string | null
  readonly term: number
  readonly place: string
  /** The name of the machine of that place, for people. Null if no node was ever there. */
  readonly machine: string | null
  /** True if a node at the place of the session is alive. */
  readonly isPresent: boolean
}

export function whereFound({ url, term, place, machine }: FoundSession): Exclude<Claim, { type: 'owned' }> {
  return url === null
    ? { type: 'awaited', place, machine: machine || undefined }
    : { type: 'elsewhere', url, term }
}

/** Takes over sessions of a place. $1: this node, $2: its place, $3: the maximum number of sessions. */
export const adoptSessions = `
  WITH o AS (${orphansOf('$2', 's.key')}
      AND EXISTS (SELECT FROM nodes m WHERE m.id = $1 AND m.fenced_at IS NULL)
    ORDER BY s.key LIMIT $3 FOR UPDATE OF s SKIP LOCKED)
  UPDATE sessions s SET ${newOwner('$1')} FROM o WHERE s.key = o.key RETURNING s.state, s.term, ${formerMark}`

/** Selects the sessions with work left that a node owns. $1: this node. */
export const unsettledOf =
  'SELECT id AS "sessionId", term FROM sessions WHERE unsettled AND owner = $1 AND NOT caretaker'

/** Releases a session. $1: the session, $2: its term, $3: this node. */
export const releaseSession =
  'UPDATE sessions SET owner = NULL, caretaker = false WHERE id = $1 AND term = $2 AND owner = $3'

export function ownedSession(
  sessionId: string,
  { term, former }: { term: number; former: string | null },
): OwnedSession {
  return { sessionId, term, ...(former !== null && { former }) }
}
