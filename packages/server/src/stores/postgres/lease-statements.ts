import type { PostgresDatabase } from './database.ts'

/** The class of the advisory locks that living nodes hold. */
const nodeLocks = 5_061

type Beat = {
  readonly leaseMs: number
  /** The duration of the previous beat. */
  readonly latencyMs: number | null
  /** The version of the settings that the node has applied. */
  readonly settingsSeen: number
}

type NewNode = Beat & {
  readonly url: string
  readonly place: string
  readonly machine: string
  readonly version: string
  readonly mark: string
}

/** Registers a node, whose lock this connection holds from now on. Returns its id. */
export async function insertNode(own: PostgresDatabase, node: NewNode): Promise<number> {
  const [row] = await own.query<{ id: number }>(
    `INSERT INTO nodes (url, place, machine, version, started_at, expires_at, latency_ms, settings_seen, mark)
     VALUES ($1, $2, $3, $4, clock_timestamp() - $5 * interval '1 ms',
       clock_timestamp() + $6 * interval '1 ms', $7, $8, $9)
     RETURNING id, pg_try_advisory_lock(${nodeLocks}, id)`,
    [
      ...[node.url, node.place, node.machine, node.version, performance.now()],
      ...[node.leaseMs, node.latencyMs, node.settingsSeen, node.mark],
    ],
  )
  if (!row) throw new Error('PostgreSQL did not return the id of this node.')
  return row.id
}

/** Extends the lease of a node. Returns the current settings version, or undefined if the node is fenced. */
export async function extendNode(own: PostgresDatabase, id: number, beat: Beat): Promise<number | undefined> {
  const [row] = await own.query<{ version: number }>(
    `UPDATE nodes SET extended_at = clock_timestamp(),
       expires_at = clock_timestamp() + $2 * interval '1 ms', latency_ms = $3, settings_seen = $4
     WHERE id = $1 AND fenced_at IS NULL RETURNING (SELECT version FROM settings_version) AS version`,
    [id, beat.leaseMs, beat.latencyMs, beat.settingsSeen],
  )
  return row?.version
}

/** Takes the lock of a node. False if another connection holds it. */
export async function lockNode(own: PostgresDatabase, id: number): Promise<boolean> {
  const [row] = await own.query<{ locked: boolean }>(
    `SELECT pg_try_advisory_lock(${nodeLocks}, $1) AS locked`,
    [id],
  )
  return row?.locked === true
}

export async function fenceNode(database: PostgresDatabase, id: number): Promise<void> {
  await database.query(
    'UPDATE nodes SET fenced_at = clock_timestamp(), expires_at = clock_timestamp() WHERE id = $1',
    [id],
  )
}

/**
 * Fences the nodes whose lease has expired. Also fences a node in `refusing` or at `url` without an expired lease if
 * PostgreSQL has ended its connections. Returns the ids of the fenced nodes.
 */
export async function fenceNodes(
  database: PostgresDatabase,
  { self, refusing, url }: { self: number; refusing: readonly number[]; url: string },
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `UPDATE nodes SET fenced_at = clock_timestamp(), expires_at = least(expires_at, clock_timestamp())
     WHERE fenced_at IS NULL AND id <> $1
       AND (expires_at < clock_timestamp()
         OR ((id = ANY ($2::integer[]) OR url = $3) AND pg_try_advisory_xact_lock(${nodeLocks}, id)))
     RETURNING id`,
    [self, refusing, url],
  )
  return rows.map(({ id }) => id)
}

/**
 * Removes nodes that were fenced long ago. The last node of each place is kept, because its row contains the name of
 * the machine.
 */
export async function removeOldNodes(database: PostgresDatabase): Promise<void> {
  await database.query(
    `DELETE FROM nodes n WHERE n.fenced_at < clock_timestamp() - interval '30 days'
       AND EXISTS (SELECT FROM nodes later WHERE later.place = n.place AND later.id > n.id)
       AND NOT EXISTS (SELECT FROM sessions s WHERE s.owner = n.id)`,
  )
}
