import { closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { SearchKind } from '@parley/protocol'
import type { IndexCursor, IndexHit, IndexPage, IndexQuery, IndexStep } from '../core/search-index.ts'
import { type Condition, insideCondition, limitConditions } from './sqlite-limits.ts'

/**
 * Changes when the tables or the normalisation of words change. An index of another version is deleted, and built
 * again from the logs.
 */
const version = 1
const kinds = ['prompt', 'answer', 'call', 'output'] as const satisfies readonly SearchKind[]
const pagesOfMerge = 64

const schema = `
  CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, folder TEXT NOT NULL,
    epoch TEXT NOT NULL, seq INTEGER NOT NULL);
  CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, seq INTEGER NOT NULL,
    kind INTEGER NOT NULL);
  CREATE INDEX entries_of_sessions ON entries (session);
  CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='unicode61');
  PRAGMA user_version = ${version};`

type Row = { readonly id: number; readonly session: string; readonly seq: number; readonly kind: number }

/** The index in a SQLite file. All methods are synchronous; a worker thread runs them. Throws SQLite's errors. */
export class SqliteSearchFile {
  readonly #db: DatabaseSync
  readonly #find = new Map<string, StatementSync>()
  readonly #statements
  #hasRemoved = false

  constructor(file: string) {
    this.#db = open(file)
    this.#statements = statementsOf(this.#db)
  }

  cursor(sessionId: string): IndexCursor | undefined {
    const row = this.#statements.cursor.get(sessionId) as ({ key: number } & IndexCursor) | undefined
    return row && { epoch: row.epoch, seq: row.seq }
  }

  cursors(): Map<string, IndexCursor> {
    const rows = this.#statements.cursors.all() as ({ id: string } & IndexCursor)[]
    return new Map(rows.map(({ id, epoch, seq }) => [id, { epoch, seq }]))
  }

  add({ session, agent, folder, from, to, entries }: IndexStep): boolean {
    return this.#write(() => {
      const known = this.cursor(session)
      if (known?.epoch !== from?.epoch || known?.seq !== from?.seq) return false
      const { key } = this.#statements.move.get(session, agent, folder, to.epoch, to.seq) as { key: number }
      for (const { seq, kind, words } of entries) {
        const { lastInsertRowid } = this.#statements.addEntry.run(key, seq, kinds.indexOf(kind))
        this.#statements.addWords.run(lastInsertRowid, words)
      }
      return true
    })
  }

  remove(sessionId: string): void {
    this.#write(() => {
      const row = this.#statements.cursor.get(sessionId) as { key: number } | undefined
      if (!row) return
      for (const { id } of this.#statements.entriesOf.all(row.key) as { id: number }[])
        this.#statements.removeWords.run(id)
      this.#statements.removeEntries.run(row.key)
      this.#statements.removeSession.run(row.key)
      this.#hasRemoved = true
    })
  }

  /** The matching entries. The entries that were added last come first. */
  find(query: IndexQuery): IndexPage {
    const { words, limit, cursor } = query
    if (!words.every(isWord)) return { hits: [] }
    const filters = filtersOf(query)
    const statement = this.#prepared(
      `${selectHits(filters.sql)} AND words.rowid < ? ORDER BY words.rowid DESC LIMIT ?`,
    )
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor)
    const rows = statement.all(matchOf(query), ...filters.values, before, limit + 1) as Row[]
    const last = rows[limit - 1]
    return {
      hits: rows.slice(0, limit).map(hitOf),
      ...(rows.length > limit && last && { cursor: String(last.id) }),
    }
  }

  /**
   * Overwrites the words of removed entries, which would otherwise remain in the index until its parts are merged.
   */
  forget(): void {
    if (!this.#hasRemoved) return
    for (;;) {
      const before = this.#changes()
      this.#db.exec(`INSERT INTO words (words, rank) VALUES ('merge', -${pagesOfMerge})`)
      if (this.#changes() - before < 2) break
    }
    this.#db.exec("INSERT INTO words (words) VALUES ('optimize')")
    this.#db.exec('PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)')
    this.#hasRemoved = false
  }

  close(): void {
    if (!this.#db.isOpen) return
    this.forget()
    this.#db.close()
  }

  #changes(): number {
    return (this.#statements.changes.get() as { changes: number }).changes
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#find.get(sql) ?? this.#db.prepare(sql)
    this.#find.set(sql, statement)
    return statement
  }

  #write<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#db.exec('COMMIT')
      return result
    } catch (thrown) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw thrown
    }
  }
}

/** Opens the file. A file of another version, or a damaged file, is deleted: the index is built again. */
function open(file: string): DatabaseSync {
  const isInMemory = file === ':memory:'
  try {
    const db = opened(file)
    if (isInMemory || Number(db.prepare('PRAGMA user_version').get()?.user_version) === version) return db
    db.close()
  } catch (thrown) {
    if (isInMemory || !isDamaged(thrown)) throw thrown
  }
  removeSearchFile(file)
  return opened(file)
}

function opened(file: string): DatabaseSync {
  // Words of conversations are private.
  if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600))
  const db = new DatabaseSync(file, { timeout: 250 })
  try {
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA secure_delete = ON')
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    if (Number(db.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.count) === 0) db.exec(schema)
    return db
  } catch (thrown) {
    db.close()
    throw thrown
  }
}

export function removeSearchFile(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

/** True if the error says that the file is damaged (SQLITE_CORRUPT) or no database (SQLITE_NOTADB). */
export function isDamaged(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return false
  const code = Number(thrown.errcode) & 0xff
  return code === 11 || code === 26
}

function statementsOf(db: DatabaseSync) {
  return {
    cursor: db.prepare('SELECT key, epoch, seq FROM sessions WHERE id = ?'),
    cursors: db.prepare('SELECT id, epoch, seq FROM sessions'),
    move: db.prepare(
      `INSERT INTO sessions (id, agent, folder, epoch, seq) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, folder = excluded.folder, epoch = excluded.epoch,
         seq = excluded.seq RETURNING key`,
    ),
    addEntry: db.prepare('INSERT INTO entries (session, seq, kind) VALUES (?, ?, ?)'),
    addWords: db.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)'),
    entriesOf: db.prepare('SELECT id FROM entries WHERE session = ?'),
    removeWords: db.prepare('DELETE FROM words WHERE rowid = ?'),
    removeEntries: db.prepare('DELETE FROM entries WHERE session = ?'),
    removeSession: db.prepare('DELETE FROM sessions WHERE key = ?'),
    changes: db.prepare('SELECT total_changes() AS changes'),
  }
}

/** True if the text is only letters and digits. Other characters have a meaning in the language of queries. */
export function isWord(text: string): boolean {
  return /^[\p{L}\p{N}]+$/u.test(text)
}

function matchOf({ words, isLastPrefix }: IndexQuery): string {
  const terms = words.map((word, index) => {
    const isPrefix = isLastPrefix && index === words.length - 1
    return `"${word}"${isPrefix ? '*' : ''}`
  })
  return terms.join(' AND ')
}

function filtersOf({ kinds: wanted, agent, session, folder, within }: IndexQuery) {
  const filters: Condition[] = within ? limitConditions(within, 's.') : []
  if (wanted)
    filters.push([
      `e.kind IN (${wanted.map(() => '?').join()})`,
      ...wanted.map((kind) => kinds.indexOf(kind)),
    ])
  if (agent !== undefined) filters.push(['s.agent = ?', agent])
  if (session !== undefined) filters.push(['s.id = ?', session])
  if (folder !== undefined) filters.push(insideCondition(folder, 's.'))
  return {
    sql: filters.map(([sql]) => ` AND ${sql}`).join(''),
    values: filters.flatMap(([, ...values]) => values),
  }
}

function selectHits(filters: string): string {
  return `SELECT e.id, s.id AS session, e.seq, e.kind FROM words CROSS JOIN entries e ON e.id = words.rowid
    CROSS JOIN sessions s ON s.key = e.session WHERE words MATCH ?${filters}`
}

function hitOf({ session, seq, kind }: Row): IndexHit {
  return { session, seq, kind: kinds[kind] ?? 'output' }
}
