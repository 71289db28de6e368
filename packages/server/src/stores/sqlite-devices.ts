import type { DeviceStore, StoredDevice } from '../core/device-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type Row = Omit<StoredDevice, 'revokedAt'> & { readonly revokedAt: number | null }

export function createSqliteDevices(database: SqliteDatabase): DeviceStore {
  const select = database.prepare(
    `SELECT id AS deviceId, name, public_key AS publicKey, created_at AS createdAt, last_seen_at AS lastSeenAt,
       revoked_at AS revokedAt FROM devices ORDER BY number`,
  )
  const upsert = database.prepare(
    `INSERT INTO devices (id, name, public_key, created_at, last_seen_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, public_key = excluded.public_key,
       created_at = excluded.created_at, last_seen_at = excluded.last_seen_at,
       revoked_at = coalesce(excluded.revoked_at, revoked_at)`,
  )
  const remove = database.prepare('DELETE FROM devices WHERE id = ?')
  return {
    async devices() {
      return database.read(() =>
        (select.all() as Row[]).map(({ revokedAt, ...device }) => ({
          ...device,
          ...(revokedAt !== null && { revokedAt }),
        })),
      )
    },
    async putDevice({ deviceId, name, publicKey, createdAt, lastSeenAt, revokedAt }) {
      database.write(() => upsert.run(deviceId, name, publicKey, createdAt, lastSeenAt, revokedAt ?? null))
    },
    async removeDevice(deviceId) {
      return database.write(() => Number(remove.run(deviceId).changes) > 0)
    },
  }
}
