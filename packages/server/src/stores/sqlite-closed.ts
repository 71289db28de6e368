import { DatabaseSync } from 'node:sqlite'
import { ParleyError } from '@parley/protocol'
import type { AccessKind } from '../core/access-store.ts'
import { copyDatabase } from './sqlite-copy.ts'
import { unfinishedCopy } from './sqlite-database.ts'
import { isLocked, sqliteFailure } from './sqlite-failure.ts'

/** Work on database files that no server has open: copying, checking and replacing them. */

/** Copies a database that no server uses, without changing its schema. Throws a ParleyError if it is in use. */
export async function copyClosedDatabase(source: string, file: string): Promise<void> {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(source, { timeout: 250 })
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    if (pragma(db, 'application_id') === unfinishedCopy)
      throw new ParleyError('conflict', `${source} is an unfinished copy. Run migrate again first.`)
    await copyDatabase(db, file)
  } catch (thrown) {
    throw isLocked(thrown) ? inUse(source, thrown) : sqliteFailure(thrown, source)
  } finally {
    db?.close()
  }
}

export type CheckedDatabase = { readonly schema: number }

/**
 * Checks a database that came from elsewhere, and changes nothing. Triggers and views would run when the database is
 * used; Parley creates none. Throws a ParleyError.
 */
export function checkDatabase(file: string, known: number): CheckedDatabase {
  const refuse = (why: string) => new ParleyError('conflict', `The database of this backup ${why}.`)
  try {
    using db = new DatabaseSync(file, { readOnly: true, allowExtension: false })
    db.exec('PRAGMA trusted_schema = OFF')
    const schema = pragma(db, 'user_version')
    if (schema > known)
      throw refuse(
        `has schema version ${schema}, but this version of Parley supports up to ${known}: update Parley`,
      )
    if (schema < 1 || pragma(db, 'application_id') === unfinishedCopy)
      throw refuse('is not a complete one of Parley')
    const foreign = db.prepare("SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index')").get()
    if (foreign) throw refuse(`was not made by Parley: it has ${JSON.stringify(foreign.name)}`)
    const damage = db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
    if (damage !== 'ok') throw refuse(`is damaged (${String(damage)})`)
    return { schema }
  } catch (thrown) {
    throw thrown instanceof ParleyError ? thrown : refuse(`cannot be read: ${(thrown as Error).message}`)
  }
}

export type FolderLock = Disposable & {
  readonly isReadable: boolean
  /** The revoked records and the people as they are now. A backup may contain an older state with more rights. */
  revoked(): Revoked
  /** Moves the content of the WAL into the database file, so that replacing this file replaces the database. */
  fold(): void
}

export type Revoked = {
  readonly records: readonly { readonly kind: AccessKind; readonly id: string; readonly at: number }[]
  /** The people as they are now. `at` is the time at which a person was disabled. */
  readonly people: readonly {
    readonly id: string
    readonly at: number | null
    readonly role: string | null
  }[]
}

/** Locks a database for this process, so that no server opens it. Throws a ParleyError if it is in use. */
export function lockDatabase(file: string): FolderLock {
  const db = new DatabaseSync(file, { timeout: 250 })
  let isReadable = true
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    // An empty transaction takes the lock, even if the file is empty.
    db.exec('BEGIN EXCLUSIVE; COMMIT')
    pragma(db, 'user_version')
  } catch (thrown) {
    if (isLocked(thrown)) {
      db.close()
      throw inUse(file, thrown)
    }
    isReadable = false
  }
  const has = (table: string) =>
    isReadable && db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table)
  return {
    isReadable,
    revoked() {
      if (!has('access_records')) return { records: [], people: [] }
      const records = db.prepare(
        'SELECT kind, id, retired_at AS at FROM access_records WHERE retired_at IS NOT NULL',
      )
      const people = db.prepare(
        `SELECT id, json_extract(data, '$.disabledAt') AS at, json_extract(data, '$.role') AS role
         FROM access_records WHERE kind = 'person'`,
      )
      return {
        records: records.all() as Revoked['records'][number][],
        people: people.all() as Revoked['people'][number][],
      }
    },
    fold: () => void db.exec('PRAGMA journal_mode = DELETE'),
    [Symbol.dispose]: () => db.close(),
  }
}

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name])
}

function inUse(file: string, cause: unknown): ParleyError {
  return new ParleyError('busy', `Another Parley uses ${file}. Stop it first, and try again.`, { cause })
}
