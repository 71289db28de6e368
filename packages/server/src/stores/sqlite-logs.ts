import { type OpenBlock, ParleyError, type Receipt } from '@parley/protocol'
import type { LedgerDraft } from '../core/ledger-store.ts'
import type {
  AppendBatch,
  CreateBatch,
  ReadRange,
  RedactBatch,
  SessionRecord,
  StoredEvent,
  StoredReceipt,
} from '../core/session-store.ts'
import { type EventText, eventTextOf } from './event-text.ts'
import { receiptTaken, refuseGap, sessionTaken, sessionUnknown } from './refusals.ts'
import { createSqliteCheckpoints } from './sqlite-checkpoints.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { createSqliteEnvironments, createSqliteRules } from './sqlite-decisions.ts'
import { createSqliteDeletions } from './sqlite-deletions.ts'
import { type createSqliteEvents, eventIds, maxSessions } from './sqlite-events.ts'
import { parseRow } from './sqlite-failure.ts'
import type { QueueLedger } from './sqlite-ledger.ts'
import type { createSqliteSessions } from './sqlite-sessions.ts'
import { WrittenBlocks } from './written-blocks.ts'

export type LogParts = {
  readonly events: ReturnType<typeof createSqliteEvents>
  readonly sessions: ReturnType<typeof createSqliteSessions>
  readonly rules: ReturnType<typeof createSqliteRules>
  readonly environments: ReturnType<typeof createSqliteEnvironments>
  readonly removeAlerts: (sessionId: string) => void
  readonly removeUnsent: (sessionId: string) => void
  readonly removeLinks: (sessionId: string) => void
  readonly removeViewed: (sessionId: string) => void
  readonly ledger: { readonly queue: QueueLedger }
}

/**
 * A cache of a session's rows. It stays valid, because only this process writes to the file and every failed write
 * removes the cache.
 */
type Known = { readonly key: number; head: number; readonly written: WrittenBlocks; readonly text: EventText }

/** Writes and reads the logs of sessions: events, state, receipts and checkpoints, each batch in one transaction. */
export class SqliteLogs {
  readonly #database: SqliteDatabase
  readonly #parts: LogParts
  readonly #checkpoints
  readonly #receipts
  readonly #deletions
  readonly #known = new Map<string, Known>()

  constructor(database: SqliteDatabase, parts: LogParts) {
    this.#database = database
    this.#parts = parts
    this.#checkpoints = createSqliteCheckpoints(database)
    this.#receipts = receiptStatements(database)
    this.#deletions = createSqliteDeletions(database, eventIds)
    // Resumes deletions that an earlier process did not finish.
    void this.#deletions.finish()
  }

  create(batch: CreateBatch): void {
    const { sessionId } = batch
    refuseGap(batch, 0)
    this.#write(sessionId, () => {
      if (this.#find(sessionId)) throw sessionTaken(sessionId)
      const key = this.#parts.sessions.insert(batch)
      if (key >= maxSessions)
        throw new ParleyError('internal_error', `The store cannot hold more than ${maxSessions} sessions.`)
      const known = { key, head: 0, written: new WrittenBlocks(), text: eventTextOf(sessionId) }
      this.#writeBatch(batch, known)
      this.#known.set(sessionId, known)
    })
  }

  append(batch: AppendBatch): void {
    this.#write(batch.sessionId, () => {
      const known = this.#get(batch.sessionId)
      refuseGap(batch, known.head)
      this.#writeBatch(batch, known)
      if (batch.state) this.#parts.sessions.update(known.key, batch.state)
    })
    if (batch.state && !batch.state.turn) this.#database.trim()
  }

  read(sessionId: string, range: ReadRange): StoredEvent[] {
    return this.#database.read(() => {
      const known = this.#find(sessionId)
      return known ? this.#parts.events.read(known, range) : []
    })
  }

  load(sessionId: string): SessionRecord | undefined {
    return this.#database.read(() => {
      const known = this.#find(sessionId)
      return known && { head: known.head, ...this.#parts.sessions.load(known.key) }
    })
  }

  receipt(sessionId: string, commandId: string): StoredReceipt | undefined {
    return this.#database.read(() => {
      const known = this.#find(sessionId)
      const row = known && (this.#receipts.select.get(known.key, commandId) as ReceiptRow | undefined)
      if (!row) return undefined
      const receipt = parseRow<Receipt>(row.receipt, `the receipt of ${commandId}`)
      return { commandId, hash: row.hash, receipt }
    })
  }

  checkpoint(sessionId: string, blocks: readonly OpenBlock[]): void {
    this.#write(sessionId, () => {
      const { key, written } = this.#get(sessionId)
      this.#checkpoints.write(key, written, blocks)
    })
  }

  checkpoints(sessionId: string): OpenBlock[] {
    return this.#database.read(() => {
      const known = this.#find(sessionId)
      return known?.written.blocks() ?? []
    })
  }

  redact({ sessionId, events, epoch, state, ledger = [] }: RedactBatch): void {
    this.#write(sessionId, () => {
      const known = this.#get(sessionId)
      for (const event of events) this.#parts.events.replace(known, event)
      this.#parts.sessions.update(known.key, state)
      this.#parts.sessions.beginEpoch(known.key, epoch)
      this.#receipts.forgetContent.run(known.key)
      this.#parts.removeUnsent(sessionId)
      this.#parts.removeLinks(sessionId)
      this.#parts.ledger.queue(ledger)
    })
    // The WAL still contains the old text.
    this.#database.emptyWal()
  }

  async delete(sessionId: string, ledger: readonly LedgerDraft[] = []): Promise<boolean> {
    const { sessions, rules, environments, removeAlerts, removeLinks, removeViewed } = this.#parts
    const deleted = this.#write(sessionId, () => {
      const known = this.#find(sessionId)
      if (!known) return false
      const { key } = known
      this.#checkpoints.removeAll(key, known.written)
      this.#deletions.mark(key)
      this.#receipts.remove.run(key)
      rules.removeOfSession(sessionId)
      environments.removeOfSession(sessionId)
      removeAlerts(sessionId)
      removeLinks(sessionId)
      removeViewed(sessionId)
      sessions.remove(key)
      this.#parts.ledger.queue(ledger)
      return true
    })
    this.#known.delete(sessionId)
    if (deleted) await this.#deletions.finish()
    return deleted
  }

  #find(sessionId: string): Known | undefined {
    const known = this.#known.get(sessionId)
    if (known) return known
    const key = this.#parts.sessions.key(sessionId)
    if (key === undefined) return undefined
    const head = this.#parts.events.head(key)
    const found = { key, head, written: this.#checkpoints.load(key), text: eventTextOf(sessionId) }
    this.#known.set(sessionId, found)
    return found
  }

  #get(sessionId: string): Known {
    const known = this.#find(sessionId)
    if (!known) throw sessionUnknown(sessionId)
    return known
  }

  #write<T>(sessionId: string, work: () => T): T {
    try {
      return this.#database.write(work)
    } catch (thrown) {
      this.#known.delete(sessionId)
      throw thrown
    }
  }

  /** Deletes checkpoints first, so that the events reuse the freed pages. */
  #writeBatch({ events, receipt, rules, closedBlocks, state, ledger }: AppendBatch, known: Known): void {
    const { key, written } = known
    if (closedBlocks) this.#checkpoints.remove(key, written, closedBlocks)
    if (state && !state.turn) this.#checkpoints.removeAll(key, written)
    this.#parts.events.insert(known, events)
    if (receipt) {
      const { commandId, hash } = receipt
      const { changes } = this.#receipts.insert.run(key, commandId, hash, JSON.stringify(receipt.receipt))
      if (changes === 0) throw receiptTaken(commandId)
    }
    for (const rule of rules ?? []) this.#parts.rules.put(rule)
    if (ledger) this.#parts.ledger.queue(ledger)
    known.head += events.length
  }
}

type ReceiptRow = { hash: string; receipt: string }

function receiptStatements(database: SqliteDatabase) {
  return {
    insert: database.prepare('INSERT OR IGNORE INTO receipts VALUES (?, ?, ?, ?)'),
    select: database.prepare('SELECT hash, receipt FROM receipts WHERE session_key = ? AND command_id = ?'),
    remove: database.prepare('DELETE FROM receipts WHERE session_key = ?'),
    forgetContent: database.prepare(
      "UPDATE receipts SET hash = substr(hash, instr(hash || ' ', ' ')) WHERE session_key = ?",
    ),
  }
}
