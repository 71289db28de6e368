import type { PermissionRule, Receipt, TrustedFolder } from '@parley/protocol'
import {
  applyToState,
  emptyState,
  isKnown,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { DeviceStore } from '../core/device-store.ts'
import type {
  AppendBatch,
  ReadRange,
  SessionStore,
  StoredEnvironment,
  StoredEvent,
} from '../core/session-store.ts'
import { receiptTaken, refuseGap, sessionTaken, sessionUnknown } from './refusals.ts'
import { createSqliteCheckpoints, type Written } from './sqlite-checkpoints.ts'
import { openSqliteDatabase, type SqliteDatabase } from './sqlite-database.ts'
import { createSqliteDeletions } from './sqlite-deletions.ts'
import { createSqliteDevices } from './sqlite-devices.ts'
import { bodyIsJson, type EventText, eventTextOf, unpackDamaged } from './sqlite-event-text.ts'
import { parseRow } from './sqlite-failure.ts'
import type { OwnerInfo } from './sqlite-owner.ts'
import { createSqliteSessions, type SessionRow } from './sqlite-sessions.ts'

export type SqliteStore = SessionStore &
  DeviceStore & {
    /** What another Parley on the same file is told about this one, besides its pid and start time. */
    describeOwner(info: OwnerInfo): void
  }

export type SqliteStoreOptions = { readonly file: string; readonly owner?: OwnerInfo }

/**
 * Keeps sessions in one SQLite file, which no other process can open meanwhile. Throws a ParleyError if it cannot be
 * opened.
 */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  const database = openSqliteDatabase(options)
  try {
    return createSqliteStore(database)
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

/**
 * A cache of a session's rows. It is valid as long as every failed write drops it, because only this process writes to
 * the file.
 */
type Known = { readonly key: number; head: number; readonly written: Written; readonly text: EventText }

const seqs = 2 ** 32
const keys = 2 ** 21

export function createSqliteStore(database: SqliteDatabase): SqliteStore {
  const sessions = createSqliteSessions(database, rebuilt)
  const checkpoints = createSqliteCheckpoints(database)
  const statements = prepareStatements(database)
  const deletions = createSqliteDeletions(database, (key) => [key * seqs, (key + 1) * seqs])
  const knownSessions = new Map<string, Known>()

  const know = (sessionId: string): Known | undefined => {
    const known = knownSessions.get(sessionId)
    if (known) return known
    const key = sessions.key(sessionId)
    if (key === undefined) return undefined
    const last = statements.lastEvent.get(key * seqs, (key + 1) * seqs) as { id: number } | undefined
    const head = last ? last.id - key * seqs : 0
    const found = { key, head, written: checkpoints.load(key), text: eventTextOf(sessionId) }
    knownSessions.set(sessionId, found)
    return found
  }
  const write = <T>(sessionId: string, work: () => T): T => {
    try {
      return database.write(work)
    } catch (thrown) {
      knownSessions.delete(sessionId)
      throw thrown
    }
  }
  const writeRule = (rule: PermissionRule): void => {
    statements.upsertRule.run(rule.ruleId, rule.sessionId ?? null, JSON.stringify(rule))
  }
  /** Checkpoints first, so that the events reuse the pages that they free. */
  const writeBatch = ({ events, receipt, rules, closedBlocks, state }: AppendBatch, known: Known): void => {
    const { key, written, text } = known
    if (closedBlocks) checkpoints.remove(key, written, closedBlocks)
    if (state && !state.turn) checkpoints.removeAll(key, written)
    for (const { seq, json } of events) statements.insertEvent.run(key * seqs + seq, text.pack(seq, json))
    if (receipt) {
      const { commandId, hash } = receipt
      const { changes } = statements.insertReceipt.run(key, commandId, hash, JSON.stringify(receipt.receipt))
      if (changes === 0) throw receiptTaken(commandId)
    }
    for (const rule of rules ?? []) writeRule(rule)
    known.head += events.length
  }

  // Resumes deletions that an earlier process did not finish.
  void deletions.finish()

  return {
    async create(batch) {
      refuseGap(batch, 0)
      write(batch.sessionId, () => {
        if (know(batch.sessionId)) throw sessionTaken(batch.sessionId)
        const key = sessions.insert(batch)
        if (key >= keys)
          throw new ParleyError('internal_error', `The store cannot hold more than ${keys} sessions.`)
        const known = { key, head: 0, written: new Map(), text: eventTextOf(batch.sessionId) }
        writeBatch(batch, known)
        knownSessions.set(batch.sessionId, known)
      })
    },
    async append(batch) {
      write(batch.sessionId, () => {
        const known = know(batch.sessionId)
        if (!known) throw sessionUnknown(batch.sessionId)
        refuseGap(batch, known.head)
        writeBatch(batch, known)
        if (batch.state) sessions.update(known.key, batch.state)
      })
      if (batch.state && !batch.state.turn) database.trim()
    },
    async read(sessionId, range) {
      return database.read(() => {
        const known = know(sessionId)
        return known ? readEvents(known, range) : []
      })
    },
    async load(sessionId) {
      return database.read(() => {
        const known = know(sessionId)
        return known && { head: known.head, ...sessions.load(known.key) }
      })
    },
    async receipt(sessionId, commandId) {
      return database.read(() => {
        const known = know(sessionId)
        const row = known && (statements.selectReceipt.get(known.key, commandId) as ReceiptRow | undefined)
        return (
          row && {
            commandId,
            hash: row.hash,
            receipt: parseRow<Receipt>(row.receipt, `the receipt of ${commandId}`),
          }
        )
      })
    },

    async checkpoint(sessionId, blocks) {
      write(sessionId, () => {
        const known = know(sessionId)
        if (!known) throw sessionUnknown(sessionId)
        checkpoints.write(known.key, known.written, blocks)
      })
    },
    async checkpoints(sessionId) {
      return database.read(() => {
        const known = know(sessionId)
        return known ? checkpoints.blocks(known.written) : []
      })
    },

    async list(query) {
      return database.read(() => sessions.list(query))
    },
    async sessionsOf(agent, agentSessionIds) {
      return database.read(() => sessions.of(agent, agentSessionIds))
    },
    async unsettled() {
      return database.read(() => sessions.unsettled())
    },
    async waiting() {
      return database.read(() => sessions.waiting())
    },
    async delete(sessionId) {
      const deleted = write(sessionId, () => {
        const known = know(sessionId)
        if (!known) return false
        const { key } = known
        checkpoints.removeAll(key, known.written)
        deletions.mark(key)
        statements.deleteReceipts.run(key)
        statements.deleteRules.run(sessionId)
        statements.deleteEnvironment.run('session', sessionId)
        sessions.remove(key)
        return true
      })
      knownSessions.delete(sessionId)
      if (deleted) await deletions.finish()
      return deleted
    },

    async rules() {
      return database.read(() =>
        (statements.selectRules.all() as { rule: string }[]).map(({ rule }) =>
          parseRow<PermissionRule>(rule, 'a permission rule'),
        ),
      )
    },
    async addRule(rule) {
      database.write(() => writeRule(rule))
    },
    async removeRule(ruleId) {
      return database.write(() => Number(statements.deleteRule.run(ruleId).changes) > 0)
    },

    async trustedFolders() {
      return database.read(() =>
        (statements.selectTrusted.all() as TrustedFolder[]).map(({ folder, trustedAt }) => ({
          folder,
          trustedAt,
        })),
      )
    },
    async trustFolder({ folder, trustedAt }) {
      database.write(() => statements.upsertTrusted.run(folder, trustedAt))
    },
    async distrustFolder(folder) {
      return database.write(() => Number(statements.deleteTrusted.run(folder).changes) > 0)
    },

    async environments() {
      return database.read(() =>
        (statements.selectEnvironments.all() as EnvironmentRow[]).map(({ scope, place, variables }) => ({
          scope,
          place,
          variables: parseRow<StoredEnvironment['variables']>(variables, `the environment of ${place}`),
        })),
      )
    },
    async setEnvironment({ scope, place, variables }) {
      const isEmpty = Object.keys(variables).length === 0
      database.write(() =>
        isEmpty
          ? statements.deleteEnvironment.run(scope, place)
          : statements.upsertEnvironment.run(scope, place, JSON.stringify(variables)),
      )
    },

    ...createSqliteDevices(database),
    describeOwner: (info) => database.describeOwner(info),
    async close() {
      database.close()
    },
  }

  /** The state of a session whose stored state cannot be read, rebuilt from its events. */
  function rebuilt({ key, id, epoch }: SessionRow): SessionState {
    const text = eventTextOf(id)
    let state = emptyState(id, epoch)
    for (;;) {
      const head = seqs - 2
      const page = readEvents({ key, head, text }, { after: state.seq, limit: 1000 })
      for (const { seq, json, damaged } of page) {
        const event = damaged ? undefined : (JSON.parse(json) as SessionEvent | UnknownEvent)
        state = event && isKnown(event) ? applyToState(state, event) : { ...state, seq }
      }
      if (page.length === 0) return state
    }
  }

  function readEvents(
    { key, head, text }: Pick<Known, 'key' | 'head' | 'text'>,
    { after = 0, before, limit }: ReadRange,
  ): StoredEvent[] {
    const first = key * seqs + Math.max(after, 0)
    const end = key * seqs + Math.min(before ?? head + 1, head + 1)
    const rows = (
      before === undefined
        ? statements.selectUp.all(first, end, limit)
        : statements.selectDown.all(first, end, limit).reverse()
    ) as EventRow[]
    return rows.map(({ id, body, valid }) => {
      const seq = id - key * seqs
      if (valid === 1 && typeof body === 'string') return { seq, json: text.unpack(seq, body) }
      return { seq, json: unpackDamaged(text, seq, body), damaged: true }
    })
  }
}

type EventRow = { id: number; body: unknown; valid: number }
type EnvironmentRow = Pick<StoredEnvironment, 'scope' | 'place'> & { variables: string }
type ReceiptRow = { hash: string; receipt: string }

function prepareStatements(database: SqliteDatabase) {
  const events = 'FROM events WHERE id > ? AND id < ?'
  return {
    insertEvent: database.prepare('INSERT INTO events VALUES (?, ?)'),
    lastEvent: database.prepare(`SELECT id ${events} ORDER BY id DESC LIMIT 1`),
    selectUp: database.prepare(`SELECT id, body, ${bodyIsJson} AS valid ${events} ORDER BY id LIMIT ?`),
    selectDown: database.prepare(
      `SELECT id, body, ${bodyIsJson} AS valid ${events} ORDER BY id DESC LIMIT ?`,
    ),

    insertReceipt: database.prepare('INSERT OR IGNORE INTO receipts VALUES (?, ?, ?, ?)'),
    selectReceipt: database.prepare(
      'SELECT hash, receipt FROM receipts WHERE session_key = ? AND command_id = ?',
    ),
    deleteReceipts: database.prepare('DELETE FROM receipts WHERE session_key = ?'),

    upsertRule: database.prepare(
      `INSERT INTO rules (id, session_id, rule) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, rule = excluded.rule`,
    ),
    selectRules: database.prepare('SELECT rule FROM rules ORDER BY number'),
    deleteRule: database.prepare('DELETE FROM rules WHERE id = ?'),
    deleteRules: database.prepare('DELETE FROM rules WHERE session_id = ?'),

    upsertTrusted: database.prepare(
      `INSERT INTO trusted_folders (folder, trusted_at) VALUES (?, ?)
       ON CONFLICT (folder) DO UPDATE SET trusted_at = excluded.trusted_at`,
    ),
    selectTrusted: database.prepare(
      'SELECT folder, trusted_at AS trustedAt FROM trusted_folders ORDER BY number',
    ),
    deleteTrusted: database.prepare('DELETE FROM trusted_folders WHERE folder = ?'),

    upsertEnvironment: database.prepare(
      `INSERT INTO environments (scope, place, variables) VALUES (?, ?, ?)
       ON CONFLICT (scope, place) DO UPDATE SET variables = excluded.variables`,
    ),
    selectEnvironments: database.prepare('SELECT scope, place, variables FROM environments ORDER BY number'),
    deleteEnvironment: database.prepare('DELETE FROM environments WHERE scope = ? AND place = ?'),
  }
}
