import { ParleyError, type Receipt } from '@parley/protocol'
import type { TransferStore } from '../transfer.ts'
import { PostgresDatabase, type PostgresOptions } from './database.ts'
import { createStore, isUnfinished } from './index.ts'
import { PostgresLogs } from './logs.ts'
import { original, safeText } from './session-columns.ts'

/** The advisory lock of a process that copies from or into a database. */
const transferLock = 5_062
/** A statement that copies a page of long events takes longer than the statements of a server. */
const deadlineMs = 60_000

/** Opens a database to copy from it or into it. Rejects if a node uses it. `place` is the place of new sessions. */
export async function openPostgresTransfer(
  options: PostgresOptions & { readonly place: string },
): Promise<TransferStore> {
  const { place, ...given } = options
  const database = await PostgresDatabase.open({ deadlineMs, ...given })
  const lock = await PostgresDatabase.open({ ...given, connections: 1 }).catch(async (thrown) => {
    await database.close()
    throw thrown
  })
  const close = async () => {
    await lock.close()
    await database.close()
  }
  try {
    const [row] = await lock.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_lock(${transferLock}, 0) AS locked`,
    )
    if (!row?.locked) throw inUse('Another command copies from or to this database.')
    await refuseNodes(database)
    const lastNode = await latestNode(database)
    const logs = new PostgresLogs(database, () => ({ node: null, place }))
    return {
      ...createStore(database, logs),
      ...receiptMethods(database),
      ...markMethods(database),
      async assertUnused() {
        if (lock.ended > 0) throw inUse('The connection to PostgreSQL was lost. Run this command again.')
        await refuseNodes(database)
        if ((await latestNode(database)) !== lastNode)
          throw inUse('A node has used this database since this command started.')
      },
      async beginEpochs() {
        const changed = await database.query<{ id: string }>(
          "UPDATE sessions SET epoch = 'epo_' || replace(gen_random_uuid()::text, '-', '') RETURNING id",
        )
        return changed.length
      },
      close,
    }
  } catch (thrown) {
    await close()
    throw thrown
  }
}

async function refuseNodes(database: PostgresDatabase): Promise<void> {
  const [node] = await database.query<{ url: string }>(
    'SELECT url FROM nodes WHERE fenced_at IS NULL AND expires_at > clock_timestamp() ORDER BY id LIMIT 1',
  )
  if (node)
    throw inUse(`A node uses this database (${node.url}). Stop every node on it, and run this command again.`)
}

async function latestNode(database: PostgresDatabase): Promise<number> {
  const [row] = await database.query<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM nodes')
  return row?.id ?? 0
}

function receiptMethods(database: PostgresDatabase): Pick<TransferStore, 'receipts' | 'putReceipts'> {
  return {
    async receipts(sessionId, { after = '', limit }) {
      const rows = await database.read<{ id: string; hash: string; receipt: string }>(
        `SELECT command_id AS id, hash, receipt FROM receipts
         WHERE session_key = (SELECT key FROM sessions WHERE id = $1) AND command_id > $2
         ORDER BY command_id LIMIT $3`,
        [safeText(sessionId), after, limit],
      )
      const next = rows.at(-1)?.id
      const receipts = rows.map(({ id, hash, receipt }) => ({
        commandId: original(id),
        hash,
        receipt: JSON.parse(receipt) as Receipt,
      }))
      return { receipts, ...(next !== undefined && { next }) }
    },
    async putReceipts(sessionId, receipts) {
      await database.query(
        `INSERT INTO receipts (session_key, command_id, hash, receipt)
         SELECT key, t.* FROM sessions, unnest($2::text[], $3::text[], $4::text[]) AS t WHERE id = $1
         ON CONFLICT (session_key, command_id) DO UPDATE SET hash = excluded.hash, receipt = excluded.receipt`,
        [
          safeText(sessionId),
          receipts.map(({ commandId }) => safeText(commandId)),
          receipts.map(({ hash }) => hash),
          receipts.map(({ receipt }) => JSON.stringify(receipt)),
        ],
      )
    },
  }
}

function markMethods(database: PostgresDatabase): Pick<TransferStore, 'isUnfinished' | 'begin' | 'finish'> {
  return {
    isUnfinished: () => isUnfinished(database),
    async begin() {
      await database.query('INSERT INTO unfinished_copy DEFAULT VALUES')
      // A node that started before the mark was written is found here; a node that starts later is refused.
      await refuseNodes(database)
    },
    async finish() {
      await database.query('DELETE FROM unfinished_copy')
    },
  }
}

function inUse(message: string): ParleyError {
  return new ParleyError('conflict', message)
}
