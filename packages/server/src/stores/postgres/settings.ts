import type { PermissionRule, TrustedFolder } from '@parley/protocol'
import type { DeviceStore, StoredDevice } from '../../core/device-store.ts'
import type { SessionStore, StoredEnvironment } from '../../core/session-store.ts'
import type { DecisionStore } from '../sqlite-decisions.ts'
import type { PostgresDatabase } from './database.ts'
import { safeOrNull, safeText } from './session-columns.ts'

type SettingMethods = DecisionStore & DeviceStore

/** Stores the settings that apply to more than one session. Each is one row with JSON. */
export function createPostgresSettings(database: PostgresDatabase): SettingMethods {
  const remove = async (table: string, column: string, value: string): Promise<boolean> => {
    const rows = await database.query(`DELETE FROM ${table} WHERE ${column} = $1 RETURNING 1`, [
      safeText(value),
    ])
    return rows.length > 0
  }
  return {
    async rules() {
      const rows = await database.read<{ rule: string }>('SELECT rule FROM rules ORDER BY number')
      return rows.map(({ rule }) => JSON.parse(rule) as PermissionRule)
    },
    async addRule(rule) {
      await database.query(
        `INSERT INTO rules (id, session_id, rule) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, rule = excluded.rule`,
        [safeText(rule.ruleId), safeOrNull(rule.sessionId), JSON.stringify(rule)],
      )
    },
    removeRule: (ruleId) => remove('rules', 'id', ruleId),
    ...trustMethods(database),
    ...environmentMethods(database),
    ...deviceMethods(database, remove),
  }
}

type Remove = (table: string, column: string, value: string) => Promise<boolean>

function trustMethods(
  database: PostgresDatabase,
): Pick<SessionStore, 'trustedFolders' | 'trustFolder' | 'distrustFolder'> {
  return {
    async trustedFolders() {
      const rows = await database.read<TrustedFolder & { place: string }>(
        'SELECT folder, place, trusted_at AS "trustedAt" FROM trusted_folders ORDER BY number',
      )
      return rows.map(({ folder, place, trustedAt }) => ({
        folder: original(folder),
        ...(place !== '' && { place: original(place) }),
        trustedAt,
      }))
    },
    async trustFolder({ folder, place = '', trustedAt }) {
      await database.query(
        `INSERT INTO trusted_folders (folder, place, trusted_at) VALUES ($1, $2, $3)
         ON CONFLICT (folder, place) DO UPDATE SET trusted_at = excluded.trusted_at`,
        [safeText(folder), safeText(place), trustedAt],
      )
    },
    async distrustFolder(folder, place = '') {
      const removed = await database.query(
        'DELETE FROM trusted_folders WHERE folder = $1 AND place = $2 RETURNING 1',
        [safeText(folder), safeText(place)],
      )
      return removed.length > 0
    },
  }
}

type EnvironmentRow = { scope: StoredEnvironment['scope']; target: string; place: string; variables: string }

function environmentMethods(
  database: PostgresDatabase,
): Pick<SessionStore, 'environments' | 'setEnvironment'> {
  return {
    async environments() {
      const rows = await database.read<EnvironmentRow>(
        'SELECT scope, target, place, variables FROM environments ORDER BY number',
      )
      return rows.map(({ scope, target, place, variables }) => ({
        scope,
        place: original(target),
        ...(place !== '' && { at: original(place) }),
        variables: JSON.parse(variables) as StoredEnvironment['variables'],
      }))
    },
    async setEnvironment({ scope, place: target, at = '', variables }) {
      const key = [scope, safeText(target), safeText(at)]
      if (Object.keys(variables).length === 0)
        await database.query('DELETE FROM environments WHERE scope = $1 AND target = $2 AND place = $3', key)
      else
        await database.query(
          `INSERT INTO environments (scope, target, place, variables) VALUES ($1, $2, $3, $4)
           ON CONFLICT (scope, target, place) DO UPDATE SET variables = excluded.variables`,
          [...key, JSON.stringify(variables)],
        )
    },
  }
}

type DeviceRow = Omit<StoredDevice, 'revokedAt'> & { readonly revokedAt: number | null }

function deviceMethods(database: PostgresDatabase, remove: Remove): DeviceStore {
  return {
    async devices() {
      const rows = await database.read<DeviceRow>(
        `SELECT id AS "deviceId", name, public_key AS "publicKey", created_at AS "createdAt",
           last_seen_at AS "lastSeenAt", revoked_at AS "revokedAt" FROM devices ORDER BY number`,
      )
      return rows.map(({ deviceId, name, revokedAt, ...device }) => ({
        ...device,
        deviceId: original(deviceId),
        name: original(name),
        ...(revokedAt !== null && { revokedAt }),
      }))
    },
    async putDevice({ deviceId, name, publicKey, createdAt, lastSeenAt, revokedAt }) {
      await database.query(
        `INSERT INTO devices (id, name, public_key, created_at, last_seen_at, revoked_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, public_key = excluded.public_key,
           created_at = excluded.created_at, last_seen_at = excluded.last_seen_at,
           revoked_at = coalesce(excluded.revoked_at, devices.revoked_at)`,
        [safeText(deviceId), safeText(name), publicKey, createdAt, lastSeenAt, revokedAt ?? null],
      )
    },
    removeDevice: (deviceId) => remove('devices', 'id', deviceId),
  }
}

/** Returns the text that `safeText` has escaped. */
export function original(safe: string): string {
  return JSON.parse(`"${safe}"`) as string
}
