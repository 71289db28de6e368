import type { AccessRecord, AccessStore } from '../core/access-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { parseRow } from './sqlite-failure.ts'

export function createSqliteAccess(database: SqliteDatabase): AccessStore {
  const select = database.prepare(
    `SELECT kind, id, data, created_at AS createdAt, used_at AS usedAt, retired_at AS retiredAt
     FROM access_records ORDER BY number`,
  )
  const upsert = database.prepare(
    `INSERT INTO access_records (kind, id, data, created_at, used_at, retired_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (kind, id) DO UPDATE SET data = excluded.data, created_at = excluded.created_at,
       retired_at = coalesce(retired_at, excluded.retired_at)`,
  )
  const retire = database.prepare(
    'UPDATE access_records SET retired_at = ? WHERE kind = ? AND id = ? AND retired_at IS NULL',
  )
  const touch = database.prepare('UPDATE access_records SET used_at = ? WHERE kind = ? AND id = ?')
  const remove = database.prepare('DELETE FROM access_records WHERE kind = ? AND id = ?')
  const hasChanged = (change: () => { changes: number | bigint }) =>
    database.write(() => Number(change().changes) > 0)
  return {
    async accessRecords() {
      return database.read(() => (select.all() as AccessRow[]).map(recordOf))
    },
    async putAccessRecord({ kind, id, data, createdAt, usedAt, retiredAt }) {
      const row = [kind, id, JSON.stringify(data), createdAt, usedAt ?? null, retiredAt ?? null]
      database.write(() => upsert.run(...row))
    },
    retireAccessRecord: async (kind, id, at) => hasChanged(() => retire.run(at, kind, id)),
    touchAccessRecord: async (kind, id, usedAt) => {
      database.write(() => touch.run(usedAt, kind, id))
    },
    removeAccessRecord: async (kind, id) => hasChanged(() => remove.run(kind, id)),
  }
}

/** A row of the table `access_records`. */
export type AccessRow = {
  readonly kind: AccessRecord['kind']
  readonly id: string
  readonly data: string
  readonly createdAt: number
  readonly usedAt: number | null
  readonly retiredAt: number | null
}

export function recordOf({ kind, id, data, createdAt, usedAt, retiredAt }: AccessRow): AccessRecord {
  return {
    kind,
    id,
    data: parseRow<AccessRecord['data']>(data, `the ${kind} ${id}`),
    createdAt,
    ...(usedAt !== null && { usedAt }),
    ...(retiredAt !== null && { retiredAt }),
  }
}
