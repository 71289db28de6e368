import { newId, type Receipt } from '@parley/protocol'
import { createSqliteStore } from './sqlite.ts'
import { openSqliteDatabase, unfinishedCopy } from './sqlite-database.ts'
import { parseRow } from './sqlite-failure.ts'
import type { TransferStore } from './transfer.ts'

/** Opens a SQLite file to copy from it or into it. Its lock keeps servers out. Throws a ParleyError. */
export function openSqliteTransfer({ file }: { readonly file: string }): TransferStore {
  const database = openSqliteDatabase({ file, allowUnfinished: true })
  const select = database.prepare(
    `SELECT command_id AS commandId, hash, receipt FROM receipts
     WHERE session_key = (SELECT key FROM sessions WHERE id = ?) AND command_id > ? ORDER BY command_id LIMIT ?`,
  )
  const insert = database.prepare(
    'INSERT OR REPLACE INTO receipts SELECT key, ?, ?, ? FROM sessions WHERE id = ?',
  )
  // A damaged state is not changed: when it is read, it is computed again from the events.
  const setEpoch = database.prepare(
    `UPDATE sessions SET epoch = ?1,
       state = CASE WHEN json_valid(state) THEN json_set(state, '$.epoch', ?1) ELSE state END WHERE key = ?2`,
  )
  const selectKeys = database.prepare('SELECT key FROM sessions')
  const mark = (id: number) => database.exec(`PRAGMA application_id = ${id}`)
  return {
    ...createSqliteStore(database),
    async receipts(sessionId, { after = '', limit }) {
      const rows = database.read(() => select.all(sessionId, after, limit)) as ReceiptRow[]
      const receipts = rows.map(({ commandId, hash, receipt }) => ({
        commandId,
        hash,
        receipt: parseRow<Receipt>(receipt, `the receipt of ${commandId}`),
      }))
      const last = receipts.at(-1)
      return { receipts, ...(last && { next: last.commandId }) }
    },
    async putReceipts(sessionId, receipts) {
      database.write(() => {
        for (const { commandId, hash, receipt } of receipts)
          insert.run(commandId, hash, JSON.stringify(receipt), sessionId)
      })
    },
    async isUnfinished() {
      return database.prepare('PRAGMA application_id').get()?.application_id === unfinishedCopy
    },
    begin: async () => mark(unfinishedCopy),
    async finish() {
      // The copied data must be on the disk before the mark of an unfinished copy is removed.
      database.emptyWal()
      mark(0)
      database.emptyWal()
    },
    assertUnused: async () => undefined,
    async beginEpochs() {
      return database.write(() => {
        const rows = selectKeys.all() as { key: number }[]
        for (const { key } of rows) setEpoch.run(newId('epo'), key)
        return rows.length
      })
    },
  }
}

type ReceiptRow = { readonly commandId: string; readonly hash: string; readonly receipt: string }
