import { ParleyError } from '@parley/protocol'
import postgres from 'postgres'
import { type DatabaseAddress, parseDatabaseUrl } from './database-url.ts'
import { isConnectionLost, NoAnswer, postgresFailure } from './failure.ts'
import { type PostgresMigration, postgresMigrations } from './schema.ts'
import { type Encryption, encryptionsOf, isEncryptionRefused, noTls, offersTls } from './tls.ts'

export type PostgresOptions = {
  readonly url: string
  /** The schema of the tables. The default is `parley`. */
  readonly schema?: string
  /** The maximum number of open connections. The default is 10. */
  readonly connections?: number
  /** The deadline of a statement. If it is missed, all connections are replaced. The default is 5 seconds. */
  readonly deadlineMs?: number
  /** True if a commit waits for the disk. If it does not, a crash of PostgreSQL can undo the last commits. */
  readonly isDurable?: boolean
  readonly migrations?: readonly PostgresMigration[]
  /** Called after any process has called `ring`, if a connection of this process listens. */
  readonly onRing?: () => void
}

type Value = string | number | boolean | null
type Parameter = Value | readonly Value[]
type Row = Record<string, unknown>
export type Statement = readonly [text: string, parameters: readonly Parameter[]]
/** One connection, and the number of statements that wait for an answer on it. */
type Lane = { readonly sql: postgres.Sql; statements: number }

/** The oldest major version of PostgreSQL that is supported. */
export const oldestVersion = 15
/** The key of the advisory lock under which a schema is created or migrated. */
const migrationLock = 5_060
const closeMs = 2_000
const migrationMs = 3_600_000

/**
 * The connections to one database. Statements on a half-open connection would wait for ever. Therefore every statement
 * has a deadline; after a missed deadline, all connections are replaced by new ones.
 */
export class PostgresDatabase {
  readonly #options: Omit<PostgresOptions, 'url'>
  readonly #address: DatabaseAddress
  readonly #encryption: Encryption
  readonly #deadlineMs: number
  #lanes: Lane[] = []
  #closed = false
  #replaced = 0
  #ended = 0

  private constructor(
    address: DatabaseAddress,
    encryption: Encryption,
    options: Omit<PostgresOptions, 'url'>,
  ) {
    this.#options = options
    this.#address = address
    this.#encryption = encryption
    this.#deadlineMs = options.deadlineMs ?? 5_000
  }

  /** Connects, and creates or migrates the schema. Rejects with a ParleyError whose message describes what to do. */
  static open(options: PostgresOptions): Promise<PostgresDatabase> {
    return PostgresDatabase.#opened(options, (database) =>
      database.#migrate(options.migrations ?? postgresMigrations),
    )
  }

  /** Uses the database as it is: the schema is neither created nor migrated. */
  static unchanged(options: PostgresOptions): Promise<PostgresDatabase> {
    return PostgresDatabase.#opened(options, (database) => database.run('SELECT 1'))
  }

  /** Tries each kind of encryption in order. `first` is the first work on the new connection. */
  static async #opened(
    { url, ...options }: PostgresOptions,
    first: (database: PostgresDatabase) => Promise<unknown>,
  ): Promise<PostgresDatabase> {
    const address = parseDatabaseUrl(url)
    const encryptions = encryptionsOf(address)
    for (const encryption of encryptions) {
      const database = new PostgresDatabase(address, encryption, options)
      try {
        await first(database)
        return database
      } catch (thrown) {
        await database.close()
        const isLast = encryption === encryptions.at(-1)
        if (isLast || !isEncryptionRefused(thrown)) throw await openingFailure(thrown, address, encryption)
      }
    }
    throw new ParleyError('internal_error', 'There is no way to connect to PostgreSQL.')
  }

  /** A number that changes whenever a connection ends, even if the driver replaces it silently. */
  get generation(): number {
    return this.#replaced + this.#ended
  }

  /** The number of connections that have ended so far. All of them end when PostgreSQL crashes. */
  get ended(): number {
    return this.#ended
  }

  /** Runs a statement that only reads. It is repeated once if its connection turns out to be lost. */
  async read<Result extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Result[]> {
    try {
      return await this.run(text, parameters)
    } catch (thrown) {
      if (!isConnectionLost(thrown) || thrown instanceof NoAnswer) throw postgresFailure(thrown)
      return await this.query(text, parameters)
    }
  }

  /** Runs one statement. Rejects with a ParleyError. */
  async query<Result extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Result[]> {
    try {
      return await this.run(text, parameters)
    } catch (thrown) {
      throw postgresFailure(thrown)
    }
  }

  /** Runs one statement. Rejects with the error of the driver, so that the caller can examine it. */
  async run<Result extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Result[]> {
    return this.#onLane((sql) => send<Result>(sql, [text, parameters]))
  }

  /**
   * Runs statements in one transaction, and returns the result of the last statement. Each statement sees the data that
   * was stored before it began, so it sees the changes of every transaction that an earlier statement has waited for.
   * Rejects with a ParleyError.
   */
  async transaction<Result extends object>(...statements: readonly Statement[]): Promise<Result[]> {
    const work = async (sql: postgres.Sql) => {
      let rows: Result[] = []
      for (const statement of statements) rows = await send<Result>(sql, statement)
      return rows
    }
    try {
      return await this.#onLane(async (sql) => (await sql.begin(work as never)) as Result[])
    } catch (thrown) {
      throw postgresFailure(thrown)
    }
  }

  async #onLane<Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new ParleyError('internal_error', 'The database is closed.')
    const lane = this.#freeLane()
    lane.statements++
    try {
      return await this.#inTime(work(lane.sql))
    } catch (thrown) {
      if (isConnectionLost(thrown)) this.#replace(lane)
      throw thrown
    } finally {
      lane.statements--
    }
  }

  /**
   * Makes the connection of this statement listen for rings. Must be repeated, because a new connection does not
   * listen.
   */
  async listen(): Promise<void> {
    await this.query(`LISTEN "${this.#channel}"`)
  }

  /**
   * Calls `onRing` of every listening process. Uses a separate transaction, because PostgreSQL commits transactions
   * with a notification one at a time.
   */
  async ring(): Promise<void> {
    await this.query("SELECT pg_notify($1, '')", [this.#channel])
  }

  get #channel(): string {
    return `parley ${this.#options.schema ?? 'parley'}`
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#lanes.map(({ sql }) => sql.end({ timeout: closeMs / 1_000 })))
  }

  async #inTime<Result>(work: Promise<Result>, deadlineMs = this.#deadlineMs): Promise<Result> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new NoAnswer('The statement was not answered.')), deadlineMs)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
      work.catch(() => undefined)
    }
  }

  /** Replaces all connections by new ones. Every other statement on the old connections is rejected at once. */
  #replace(lane: Lane): void {
    const old = this.#lanes
    if (this.#closed || !old.includes(lane)) return
    this.#replaced++
    this.#lanes = []
    for (const { sql } of old) void sql.end({ timeout: 0 }).catch(() => undefined)
  }

  /**
   * The first lane that is free, so that statements that follow each other use the same connection, whose caches are
   * warm. The driver would use all its connections in turn. If no lane is free and none can be added, the statement
   * waits in the lane with the fewest statements.
   */
  #freeLane(): Lane {
    const free = this.#lanes.find(({ statements }) => statements === 0)
    if (free) return free
    if (this.#lanes.length < (this.#options.connections ?? 10)) {
      const lane = { sql: this.#connect(), statements: 0 }
      this.#lanes.push(lane)
      return lane
    }
    return this.#lanes.reduce((best, lane) => (lane.statements < best.statements ? lane : best))
  }

  #connect(): postgres.Sql {
    const { schema = 'parley', isDurable = true, onRing } = this.#options
    const rung = onRing ? { onnotify: () => onRing() } : {}
    const { host, port, database, user, password } = this.#address
    const socket = host.startsWith('/') && { path: `${host}/.s.PGSQL.${port}` }
    // Contrary to its types, the driver accepts arrays. It would split an IPv6 address in a string at its colons.
    const server = { host: [host], port: [port] } as unknown as { host: string; port: number }
    return postgres({
      ...server,
      ...socket,
      ...rung,
      database,
      user,
      password,
      ssl: this.#encryption,
      max: 1,
      max_lifetime: null,
      connect_timeout: Math.ceil(this.#deadlineMs / 1_000),
      onnotice: () => undefined,
      onclose: () => {
        this.#ended++
      },
      // The driver would read the types of arrays on every new connection, and does not handle a failure of that
      // query.
      fetch_types: false,
      types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
      connection: {
        application_name: 'parley',
        search_path: `"${schema}"`,
        ...(!isDurable && { synchronous_commit: 'off' }),
        // PostgreSQL ends a slow statement before its deadline, so that the statement does not run when nobody waits
        // for it.
        statement_timeout: Math.floor(this.#deadlineMs * 0.8),
      },
    }) as unknown as postgres.Sql
  }

  async #migrate(steps: readonly PostgresMigration[]): Promise<void> {
    const { schema = 'parley' } = this.#options
    const { sql: connection } = this.#freeLane()
    const [{ version = 0 } = {}] = await this.#inTime(
      connection<{ version: number }[]>`SELECT current_setting('server_version_num')::int / 10000 AS version`,
    )
    if (version < oldestVersion) throw tooOld(version)
    const work = connection.begin(async (sql) => {
      // No time limit: a migration step can take long, and so can the migration of another process that this process
      // waits for.
      await sql`SET LOCAL statement_timeout = 0`
      await sql`SELECT pg_advisory_xact_lock(${migrationLock})`
      await sql.unsafe(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
      await sql.unsafe('CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)')
      const [row] = await sql<{ version: number }[]>`SELECT version FROM schema_version`
      const current = row?.version ?? 0
      const known = steps.at(-1)?.version ?? 0
      if (current > known) throw tooNew(current, known)
      if (current === known) return
      for (const { version, sql: text } of steps) if (version > current) await sql.unsafe(text)
      await sql`DELETE FROM schema_version`
      await sql`INSERT INTO schema_version VALUES (${known})`
    })
    await this.#inTime(work, migrationMs)
  }
}

async function send<Result extends object>(
  sql: postgres.Sql,
  [text, parameters]: Statement,
): Promise<Result[]> {
  const values = parameters.map((value) => (isArray(value) ? arrayText(value) : value))
  return (await sql.unsafe<Row[]>(text, values, { prepare: true })) as unknown as Result[]
}

/**
 * The error of a failed `open`. A server without TLS only closes the connection, so the server is asked whether it
 * offers TLS.
 */
async function openingFailure(
  thrown: unknown,
  { host, port, tls }: DatabaseAddress,
  encryption: Encryption,
): Promise<unknown> {
  const isRefused = typeof encryption === 'object' && isEncryptionRefused(thrown)
  if (isRefused && (await offersTls({ host, port })) === false) return noTls(tls.sslmode)
  return postgresFailure(thrown)
}

function isArray(value: Parameter): value is readonly Value[] {
  return Array.isArray(value)
}

/** Formats an array in the text format of PostgreSQL. */
function arrayText(values: readonly Value[]): string {
  const element = (value: Value) => (value === null ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`)
  return `{${values.map(element).join(',')}}`
}

function tooOld(version: number): ParleyError {
  return new ParleyError(
    'not_supported',
    `This is PostgreSQL ${version}. Parley needs PostgreSQL ${oldestVersion} or newer.`,
    { details: { version, oldest: oldestVersion } },
  )
}

function tooNew(version: number, known: number): ParleyError {
  return new ParleyError(
    'conflict',
    `The database has schema version ${version}; this version of Parley supports versions up to ${known}. Update Parley to use it. The database was not changed.`,
    { details: { version, known } },
  )
}
