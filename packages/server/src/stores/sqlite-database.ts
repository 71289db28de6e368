import { closeSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { ParleyError } from '@parley/protocol'
import { type Migration, migrations } from './migrations/index.ts'
import { isLocked, sqliteFailure } from './sqlite-failure.ts'
import { identityOf, type OwnerInfo, readOwner, removeOwner, writeOwner } from './sqlite-owner.ts'

/** The `application_id` of a file into which `parley migrate` has not copied everything yet. */
export const unfinishedCopy = 0x70617263

/** One file with the current schema, locked for this process from open to close. Throws only ParleyErrors. */
export type SqliteDatabase = {
  prepare(sql: string): StatementSync
  exec(sql: string): void
  read<T>(work: () => T): T
  /** Runs `work` in one transaction. If it fails, nothing is written and the database remains usable. */
  write<T>(work: () => T): T
  /**
   * Empties the WAL within a second if it has grown beyond its share of the stored bytes. Emptying it syncs the disk,
   * which takes longer than all other writes of a turn.
   */
  trim(): void
  /** Empties the WAL. Throws if its contents cannot be written to the disk. */
  emptyWal(): void
  describeOwner(info: OwnerInfo): void
  /** Copies the database to a new file. Other work continues meanwhile, and the copy includes its writes. */
  copyTo(file: string): Promise<void>
  close(): void
}

export type SqliteDatabaseOptions = {
  readonly file: string
  /** Describes this process (for example, its URL) to another process that finds the file locked. */
  readonly owner?: OwnerInfo
  /** Also opens a file into which `parley migrate` has not copied everything. */
  readonly allowUnfinished?: boolean
  readonly migrations?: readonly Migration[]
}

const pageSize = 16_384
const walPages = 64
/**
 * The size in bytes up to which a file of an older version is converted. In a larger file, deleted text is still
 * overwritten, but the file does not shrink.
 */
const maxConverted = 1024 * 1024 * 1024
const walShare = { bytes: 262_144, ofFile: 1 / 20 }
const trimMs = 1_000

export function openSqliteDatabase(options: SqliteDatabaseOptions): SqliteDatabase {
  const { file } = options
  const db = openLocked(options)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const startedAt = new Date().toISOString()
  const own = { pid: process.pid, startedAt, database: identityOf(file) ?? '' }
  const describeOwner = (info: OwnerInfo) => writeOwner(file, { ...own, ...info })
  describeOwner(options.owner ?? {})

  const read = <T>(work: () => T): T => {
    if (!db.isOpen) throw new ParleyError('internal_error', `${file} is closed.`)
    try {
      return work()
    } catch (thrown) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw sqliteFailure(thrown, file)
    }
  }
  let trimming: NodeJS.Timeout | undefined
  const trimNow = () => {
    const wal = sizeOf(`${file}-wal`)
    if (!db.isOpen || wal <= Math.max(walShare.bytes, sizeOf(file) * walShare.ofFile)) return
    try {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // All data is committed. If the disk cannot be written now, the next write reports the error.
    }
  }
  return {
    prepare: (sql) => read(() => db.prepare(sql)),
    exec: (sql) => read(() => db.exec(sql)),
    read,
    write: (work) =>
      read(() => {
        begin.run()
        const result = work()
        commit.run()
        return result
      }),
    trim() {
      trimming ??= setTimeout(() => {
        trimming = undefined
        trimNow()
      }, trimMs).unref()
    },
    emptyWal: () => read(() => db.exec('PRAGMA wal_checkpoint(TRUNCATE)')),
    describeOwner,
    async copyTo(target) {
      const { copyDatabase } = await import('./sqlite-copy.ts')
      await copyDatabase(db, target)
    },
    close() {
      if (!db.isOpen) return
      clearTimeout(trimming)
      removeOwner(file)
      db.close()
    },
  }
}

/**
 * Opens the file and locks it for this process. The operating system holds the lock, so the lock always ends with the
 * process. The lock also ends when this process opens and closes the same file in another way. Therefore this process
 * must never read the file of an open database.
 */
function openLocked(options: SqliteDatabaseOptions): DatabaseSync {
  const { file, migrations: steps = migrations } = options
  createPrivateFile(file)
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: 250, enableForeignKeyConstraints: false })
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    const version = schemaVersion(db)
    refuseUnknownSchema(db, { file, version, known: steps.at(-1)?.version ?? 0 })
    if (!options.allowUnfinished) refuseUnfinished(db, file)
    prepareFile(db, { isNew: version === 0 })
    if (version > 0) convert(db, file)
    migrate(db, steps.slice(version))
    return db
  } catch (thrown) {
    db?.close()
    throw isLocked(thrown) ? inUse(file, thrown) : sqliteFailure(thrown, file)
  }
}

/**
 * Creates the file with access for this user only, because conversations are private. An existing file is not
 * opened here, because closing it would end the lock of a database that this process has open.
 */
function createPrivateFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'wx', 0o600))
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'EEXIST') return
    throw new ParleyError(
      'internal_error',
      `${file} cannot be created (${code}). Check the permissions of its folder.`,
      {
        cause: thrown,
      },
    )
  }
}

function refuseUnknownSchema(
  db: DatabaseSync,
  schema: { file: string; version: number; known: number },
): void {
  const { file, version, known } = schema
  if (version > known) {
    throw new ParleyError(
      'conflict',
      `${file} has schema version ${version}; this version of Parley supports versions up to ${known}. Update Parley to open it. The file was not changed.`,
      { details: { file, version, known } },
    )
  }
  if (version === 0 && db.prepare('SELECT 1 FROM sqlite_schema').get()) {
    throw new ParleyError(
      'conflict',
      `${file} belongs to another program. Choose another folder with --data-dir.`,
    )
  }
}

function refuseUnfinished(db: DatabaseSync, file: string): void {
  if (db.prepare('PRAGMA application_id').get()?.application_id !== unfinishedCopy) return
  throw new ParleyError(
    'conflict',
    `${file} is an unfinished copy: its migration was interrupted. Run migrate again, or delete the file.`,
  )
}

/**
 * Uses WAL with synchronous NORMAL: committed data survives the death of this process; a power failure may lose the
 * last commits, but does not damage the file. Large pages waste less space for rows of one or two thousand bytes.
 * Deleted data is overwritten, and free pages can be returned to the disk.
 */
function prepareFile(db: DatabaseSync, { isNew }: { isNew: boolean }): void {
  db.exec(`PRAGMA page_size = ${pageSize}`)
  // In an existing file, setting this again would be a write.
  if (isNew) db.exec('PRAGMA auto_vacuum = INCREMENTAL')
  db.exec('PRAGMA secure_delete = ON')
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('PRAGMA synchronous = NORMAL')
  db.exec(`PRAGMA wal_autocheckpoint = ${walPages}`)
  db.exec(`PRAGMA journal_size_limit = ${walPages * pageSize}`)
  db.exec('PRAGMA cache_size = -8192')
}

/**
 * Rewrites a file of an older version so that it can shrink, if three times its size is free on the disk. This takes
 * about a second per 100 MB.
 */
function convert(db: DatabaseSync, file: string): void {
  const isConverted = Number(db.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum) !== 0
  const { bavail, bsize } = statfsSync(dirname(file))
  const size = sizeOf(file)
  if (isConverted || size > maxConverted || bavail * bsize < size * 3) return
  try {
    db.exec('PRAGMA auto_vacuum = INCREMENTAL')
    db.exec('VACUUM')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // The file is unchanged. If it is damaged, a later read reports the damage.
  }
}

function migrate(db: DatabaseSync, steps: readonly Migration[]): void {
  for (const { version, sql } of steps) {
    db.exec('BEGIN IMMEDIATE')
    db.exec(sql)
    db.exec(`PRAGMA user_version = ${version}`)
    db.exec('COMMIT')
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function schemaVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version)
}

function inUse(file: string, cause: unknown): ParleyError {
  const { secret: _, ...owner } = readOwner(file)?.info ?? {}
  const { pid, startedAt, url } = owner
  const named =
    pid === undefined ? '' : ` (pid ${pid}${url === undefined ? '' : `, ${url}`}, since ${startedAt})`
  return new ParleyError(
    'busy',
    `Another Parley${named} uses this data folder. Stop it, or choose another folder with --data-dir.`,
    { cause, details: { file, ...(pid !== undefined && { owner }) } },
  )
}
