import type { LedgerEntry } from '@parley/protocol'
import type { LedgerDraft, LedgerStore, SealKey } from '../core/ledger-store.ts'
import {
  entryOf,
  entryValues,
  type LedgerRow,
  ledgerColumns,
  ledgerMoved,
  ledgerSelection,
} from './ledger-rows.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** Adds drafts to the queue, in the transaction that is open. */
export type QueueLedger = (drafts: readonly LedgerDraft[]) => void

export function createSqliteLedger(database: SqliteDatabase): { store: LedgerStore; queue: QueueLedger } {
  const insertDraft = database.prepare('INSERT INTO ledger_queue (draft) VALUES (?)')
  const selectDrafts = database.prepare('SELECT id, draft FROM ledger_queue ORDER BY id LIMIT ?')
  const removeDraft = database.prepare('DELETE FROM ledger_queue WHERE id = ?')
  const insert = database.prepare(
    `INSERT INTO ledger (${ledgerColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const of = (condition: string, order: string) =>
    database.prepare(`SELECT ${ledgerSelection} FROM ledger WHERE ${condition} ORDER BY n ${order} LIMIT ?`)
  const selectAll = of('n > ?', 'ASC')
  const selectOf = of('n > ? AND subject = ?', 'ASC')
  const selectLast = of('1', 'DESC')
  const selectLastOf = of('subject = ?', 'DESC')
  const selectKeys = database.prepare(
    'SELECT id AS keyId, public_key AS publicKey, added_at AS addedAt FROM seal_keys ORDER BY number',
  )
  const insertKey = database.prepare(
    'INSERT OR IGNORE INTO seal_keys (id, public_key, added_at) VALUES (?, ?, ?)',
  )
  const queue: QueueLedger = (drafts) => {
    for (const draft of drafts) insertDraft.run(JSON.stringify(draft))
  }
  const last = (subject?: string): LedgerEntry | undefined => {
    const rows = subject === undefined ? selectLast.all(1) : selectLastOf.all(subject, 1)
    const [row] = rows as LedgerRow[]
    return row && entryOf(row)
  }
  const store: LedgerStore = {
    queueLedger: async (drafts) => database.write(() => queue(drafts)),
    async queuedLedger(limit) {
      const rows = database.read(() => selectDrafts.all(limit)) as { id: number; draft: string }[]
      return rows.map(({ id, draft }) => ({ id, draft: JSON.parse(draft) as LedgerDraft }))
    },
    holdLedger: async () => true,
    chainLedger: async (entries, drafts) =>
      database.write(() => {
        if ((last()?.n ?? 0) + 1 !== (entries[0]?.n ?? 0)) throw ledgerMoved()
        for (const entry of entries) insert.run(...entryValues(entry))
        for (const id of drafts) removeDraft.run(id)
      }),
    async ledger({ after = 0, subject, limit }) {
      const rows = database.read(() =>
        subject === undefined ? selectAll.all(after, limit) : selectOf.all(after, subject, limit),
      )
      return (rows as LedgerRow[]).map(entryOf)
    },
    lastOfLedger: async (subject) => database.read(() => last(subject)),
    async sealKeys() {
      const rows = database.read(() => selectKeys.all()) as SealKey[]
      // The driver's rows have no prototype, so they would not equal the rows of another store.
      return rows.map((row) => ({ ...row }))
    },
    addSealKey: async ({ keyId, publicKey, addedAt }) =>
      database.write(() => Number(insertKey.run(keyId, publicKey, addedAt).changes) > 0),
  }
  return { store, queue }
}
