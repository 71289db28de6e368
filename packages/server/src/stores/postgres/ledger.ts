import type { LedgerStore, SealKey } from '../../core/ledger-store.ts'
import {
  entryOf,
  entryValues,
  type LedgerRow,
  ledgerColumns,
  ledgerMoved,
  ledgerSelection,
} from '../ledger-rows.ts'
import type { PostgresDatabase } from './database.ts'
import { isUniqueViolation } from './failure.ts'
import { original, safeText } from './session-columns.ts'

/**
 * The lease of the process that chains drafts. After the death of that process, another process waits for this time.
 */
const holdSeconds = 0.5

const columnTypes = [
  'bigint',
  'bigint',
  'text',
  'text',
  'text',
  'text',
  'text',
  'text',
  'text',
  'text',
  'text',
]

/**
 * Stores entries and removes drafts. Each column of the entries is an array. Stores nothing if the first entry does not
 * follow the last stored entry.
 */
const chain = `
  WITH ok AS (SELECT 1 WHERE coalesce((SELECT max(n) FROM ledger), 0) = $1::bigint - 1),
  d AS (DELETE FROM ledger_queue USING ok WHERE id = ANY ($2::bigint[]))
  INSERT INTO ledger (${ledgerColumns})
    SELECT t.* FROM ok, unnest(${columnTypes.map((type, index) => `$${index + 3}::${type}[]`).join(', ')}) AS t
  RETURNING n`

/** `holder` names this process in the lease of the ledger. */
export function createPostgresLedger(database: PostgresDatabase, holder: string): LedgerStore {
  const select = async (condition: string, order: string, values: readonly (string | number)[]) => {
    const rows = await database.read<LedgerRow>(
      `SELECT ${ledgerSelection} FROM ledger WHERE ${condition} ORDER BY n ${order} LIMIT $1`,
      [...values],
    )
    return rows.map((row) => entryOf({ ...row, subject: original(row.subject) }))
  }
  return {
    async queueLedger(drafts) {
      await database.query('INSERT INTO ledger_queue (draft) SELECT unnest($1::text[])', [
        drafts.map((draft) => JSON.stringify(draft)),
      ])
    },
    async queuedLedger(limit) {
      const rows = await database.read<{ id: number; draft: string }>(
        'SELECT id, draft FROM ledger_queue ORDER BY id LIMIT $1',
        [limit],
      )
      return rows.map(({ id, draft }) => ({ id, draft: JSON.parse(draft) }))
    },
    async holdLedger() {
      const rows = await database.query(
        `UPDATE ledger_lease SET holder = $1, until = clock_timestamp() + make_interval(secs => $2)
         WHERE holder = $1 OR until < clock_timestamp() RETURNING 1`,
        [holder, holdSeconds],
      )
      return rows.length > 0
    },
    async chainLedger(entries, drafts) {
      const first = entries[0]?.n ?? 0
      const rows = entries.map((entry) => entryValues({ ...entry, subject: safeText(entry.subject) }))
      const columns = columnTypes.map((_, index) => rows.map((row) => row[index] ?? null))
      const stored = await database.run(chain, [first, drafts, ...columns]).catch((thrown) => {
        if (isUniqueViolation(thrown, 'ledger_pkey')) throw ledgerMoved()
        throw thrown
      })
      if (stored.length === 0) throw ledgerMoved()
    },
    ledger: ({ after = 0, subject, limit }) =>
      subject === undefined
        ? select('n > $2', 'ASC', [limit, after])
        : select('n > $2 AND subject = $3', 'ASC', [limit, after, safeText(subject)]),
    lastOfLedger: async (subject) =>
      subject === undefined
        ? (await select('true', 'DESC', [1]))[0]
        : (await select('subject = $2', 'DESC', [1, safeText(subject)]))[0],
    async sealKeys() {
      const rows = await database.read<SealKey>(
        `SELECT id AS "keyId", public_key AS "publicKey", added_at AS "addedAt" FROM seal_keys ORDER BY number`,
      )
      // The driver returns a subclass of Array; the copy is a plain array of plain objects, as in the other stores.
      return rows.map((row) => ({ ...row }))
    },
    async addSealKey({ keyId, publicKey, addedAt }) {
      const rows = await database.query(
        'INSERT INTO seal_keys (id, public_key, added_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING RETURNING 1',
        [keyId, publicKey, addedAt],
      )
      return rows.length > 0
    },
  }
}
