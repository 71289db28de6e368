import { defined } from '@parley/protocol'
import type { PostgresDatabase } from './database.ts'
import { safeText } from './session-columns.ts'

/** A node as the database describes it. Ages are measured by the clock of the database. */
export type NodeRow = {
  readonly id: number
  readonly url: string
  readonly place: string
  readonly machine: string
  readonly version: string
  readonly startedAt: number
  /** The time since the node last extended its lease. */
  readonly leaseAgeMs: number
  /** Negative if the lease has expired. */
  readonly leaseLeftMs: number
  /** The number of sessions that the node owns; for a fenced node, only those that no other node has claimed yet. */
  readonly sessions: number
  /** The number of these sessions that have a running turn or background tasks. */
  readonly working: number
  readonly isFenced: boolean
  readonly isSelf: boolean
  /** The time that the node waited for its last statement about its lease. */
  readonly latencyMs: number | null
}

/** Another node, as `scan` returns it. */
export type PeerRow = {
  readonly id: number
  readonly url: string
  readonly isExpired: boolean
}

/** The place and the owner of a session. */
export type SessionNodeRow = {
  readonly place: string
  /** The name of the machine of that place. */
  readonly machine: string
  /** True if a node of that place is alive. */
  readonly isPresent: boolean
  /** The node that owns the session, if any. */
  readonly nodeId: number | null
  readonly nodeUrl: string | null
}

/** The place of a session's folder, and the nodes at this place. */
export type Whereabouts = {
  readonly place: string
  /** The name of the machine of that place, for people. */
  readonly machine: string
  /** True if it is the place of this node. */
  readonly isHere: boolean
  /** The addresses of the nodes at this place that are not fenced, the owner of the session first. */
  readonly nodes: readonly string[]
  /** The address of the owner, if it is not fenced. */
  readonly owner?: string
}

/** The ids under which nodes were registered in the database. */
export class NodeNumbers {
  #first = Number.POSITIVE_INFINITY
  readonly #newest = new Map<string, number>()

  /** The id of the newest node that was found at this address; 0 if there was none. */
  at(url: string): number {
    return this.#newest.get(url) ?? 0
  }

  /** True if the id belongs to this process, or to a node that registered after it. */
  isCurrent(id: number): boolean {
    return id >= this.#first
  }

  /** Called with each id under which this process is registered. */
  registered(id: number): void {
    this.#first = Math.min(id, this.#first)
  }

  /** Records the newest id at each address, and returns the addresses. Skips outer-join rows without a node. */
  see(nodes: Iterable<{ readonly id: number | null; readonly url: string | null }>): string[] {
    return Array.from(nodes).flatMap(({ id, url }) => {
      if (id === null || url === null) return []
      this.#newest.set(url, Math.max(id, this.at(url)))
      return [url]
    })
  }
}

/** SQL for the name of the machine of a place, from the row of the newest node there. */
export const machineOf = (place: string) =>
  `(SELECT machine FROM nodes WHERE place = ${place} ORDER BY id DESC LIMIT 1)`

const now = 'statement_timestamp()'
const ms = (interval: string) => `(extract(epoch FROM ${interval}) * 1000)::float8`

/**
 * Lists the nodes that are not fenced, those that were fenced within the last hour, and the last node of each place
 * that has sessions but no living node. The oldest comes first.
 */
export function readNodes(database: PostgresDatabase): Promise<Omit<NodeRow, 'isSelf'>[]> {
  return database.read(
    `SELECT n.id, n.url, n.place, n.machine, n.version, floor(${ms('n.started_at')}) AS "startedAt",
       ${ms(`${now} - n.extended_at`)} AS "leaseAgeMs", ${ms(`n.expires_at - ${now}`)} AS "leaseLeftMs",
       (SELECT count(*) FROM sessions s WHERE s.owner = n.id) AS sessions,
       (SELECT count(*) FROM sessions s WHERE s.owner = n.id AND NOT s.caretaker
         AND s.status IN ('working', 'background')) AS working,
       n.fenced_at IS NOT NULL AS "isFenced", n.latency_ms AS "latencyMs"
     FROM nodes n WHERE n.fenced_at IS NULL OR n.fenced_at > ${now} - interval '1 hour'
       OR (NOT EXISTS (SELECT FROM nodes m WHERE m.place = n.place AND (m.fenced_at IS NULL OR m.id > n.id))
         AND EXISTS (SELECT FROM sessions s WHERE s.place = n.place))
     ORDER BY n.id`,
  )
}

/** Returns the place and the owner of a session. Undefined if there is no such session. */
export async function readNodeOf(
  database: PostgresDatabase,
  sessionId: string,
): Promise<SessionNodeRow | undefined> {
  const [row] = await database.read<SessionNodeRow>(
    `SELECT coalesce(s.place, '') AS place, coalesce(m.machine, '') AS machine,
       coalesce(m.fenced_at IS NULL, false) AND m.id IS NOT NULL AS "isPresent",
       o.id AS "nodeId", o.url AS "nodeUrl"
     FROM sessions s LEFT JOIN nodes o ON o.id = s.owner AND o.fenced_at IS NULL
       LEFT JOIN LATERAL (SELECT id, machine, fenced_at FROM nodes WHERE place = s.place
         ORDER BY fenced_at IS NULL DESC, id DESC LIMIT 1) m ON true
     WHERE s.id = $1`,
    [safeText(sessionId)],
  )
  return row
}

/** The addresses of all nodes that are not fenced. */
export async function readLiving(database: PostgresDatabase, numbers: NodeNumbers): Promise<string[]> {
  const rows = await database.read<{ id: number; url: string }>(
    'SELECT id, url FROM nodes WHERE fenced_at IS NULL ORDER BY id',
  )
  return numbers.see(rows)
}

/**
 * Returns the place of a session's folder, and the nodes there. Undefined if there is no such session. `here` is the
 * place of this node.
 */
export async function readWhereabouts(
  database: PostgresDatabase,
  numbers: NodeNumbers,
  { sessionId, here }: { readonly sessionId: string; readonly here: string },
): Promise<Whereabouts | undefined> {
  const rows = await database.read<WhereaboutsRow>(
    `SELECT s.place, ${machineOf('s.place')} AS machine, n.id, n.url, coalesce(n.id = s.owner, false) AS owns
     FROM sessions s LEFT JOIN nodes n ON n.place = s.place AND n.fenced_at IS NULL
     WHERE s.id = $1 ORDER BY owns DESC, n.id`,
    [safeText(sessionId)],
  )
  const [first] = rows
  if (!first) return undefined
  const nodes = numbers.see(rows)
  const { place, machine } = first
  const name = place ?? 'an unknown machine'
  const owner = first.owns ? nodes[0] : undefined
  return { place: name, machine: machine || name, isHere: place === here, nodes, ...defined({ owner }) }
}

type WhereaboutsRow = {
  readonly place: string | null
  readonly machine: string | null
  readonly id: number | null
  readonly url: string | null
  readonly owns: boolean
}
