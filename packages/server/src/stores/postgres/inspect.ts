import { PostgresDatabase, type PostgresOptions } from './database.ts'

/** `clockSkewMs` is positive if the database's clock is ahead of this machine's clock. */
export type DatabaseFacts = {
  readonly latencyMs: number
  readonly version: string
  readonly clockSkewMs: number
}

export type DatabaseInspection = DatabaseFacts & {
  readonly majorVersion: number
  /** 0 if there are no tables yet. */
  readonly schemaVersion: number
  /** True if the user can create the tables. */
  readonly mayCreate: boolean
}

/**
 * The number of measurements. The fastest is used, because the first statement on a connection includes the time to
 * connect.
 */
const samples = 5

/** Measures a database with one statement. The skew is accurate to half of the latency. */
export async function measureDatabase(database: PostgresDatabase): Promise<DatabaseFacts> {
  const sentAt = Date.now()
  const start = performance.now()
  const [row] = await database.read<{ at: number; version: string }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at,
       current_setting('server_version') AS version`,
  )
  const latencyMs = performance.now() - start
  const { at = sentAt, version = '' } = row ?? {}
  return { latencyMs, version, clockSkewMs: at - (sentAt + latencyMs / 2) }
}

/** Inspects a database without changing it. Rejects with a ParleyError if it cannot be used. */
export async function inspectDatabase(options: PostgresOptions): Promise<DatabaseInspection> {
  const database = await PostgresDatabase.unchanged({ ...options, connections: 1 })
  try {
    const [found] = await database.read<Found>(
      `SELECT current_setting('server_version_num')::int / 10000 AS "majorVersion",
         to_regclass($1) IS NOT NULL AS "hasTables",
         has_database_privilege(current_database(), 'CREATE') AS "mayCreate"`,
      [`"${options.schema ?? 'parley'}".schema_version`],
    )
    const { majorVersion = 0, hasTables = false, mayCreate = false } = found ?? {}
    const [stored] = hasTables
      ? await database.read<{ version: number }>('SELECT version FROM schema_version')
      : []
    let fastest = await measureDatabase(database)
    for (let count = 1; count < samples; count++) {
      const facts = await measureDatabase(database)
      if (facts.latencyMs < fastest.latencyMs) fastest = facts
    }
    return { ...fastest, majorVersion, mayCreate, schemaVersion: stored?.version ?? 0 }
  } finally {
    await database.close()
  }
}

type Found = { readonly majorVersion: number; readonly hasTables: boolean; readonly mayCreate: boolean }
