import type { Actor, PermissionRule, TrustedFolder } from '@parley/protocol'
import type { AccessStore } from '../../core/access-store.ts'
import type { SessionStore, StoredEnvironment } from '../../core/session-store.ts'
import { type AccessRow, recordOf } from '../sqlite-access.ts'
import type { DecisionStore } from '../sqlite-decisions.ts'
import type { PostgresDatabase } from './database.ts'
import { original, safeOrNull, safeText } from './session-columns.ts'

type SettingMethods = DecisionStore & AccessStore

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
    ...accessMethods(database),
  }
}

type TrustRow = { folder: string; place: string; trustedAt: number; trustedBy: string | null }

function trustMethods(
  database: PostgresDatabase,
): Pick<SessionStore, 'trustedFolders' | 'trustFolder' | 'distrustFolder'> {
  return {
    async trustedFolders() {
      const rows = await database.read<TrustRow>(
        `SELECT folder, place, trusted_at AS "trustedAt", trusted_by AS "trustedBy"
         FROM trusted_folders ORDER BY number`,
      )
      return rows.map(
        ({ folder, place, trustedAt, trustedBy }): TrustedFolder => ({
          folder: original(folder),
          ...(place !== '' && { place: original(place) }),
          trustedAt,
          ...(trustedBy !== null && { trustedBy: JSON.parse(trustedBy) as Actor }),
        }),
      )
    },
    async trustFolder({ folder, place = '', trustedAt, trustedBy }) {
      await database.query(
        `INSERT INTO trusted_folders (folder, place, trusted_at, trusted_by) VALUES ($1, $2, $3, $4)
         ON CONFLICT (folder, place) DO UPDATE SET trusted_at = excluded.trusted_at,
           trusted_by = excluded.trusted_by`,
        [safeText(folder), safeText(place), trustedAt, trustedBy ? JSON.stringify(trustedBy) : null],
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

function accessMethods(database: PostgresDatabase): AccessStore {
  const hasChanged = async (statement: string, values: readonly (string | number)[]) =>
    (await database.query(`${statement} RETURNING 1`, [...values])).length > 0
  return {
    async accessRecords() {
      const rows = await database.read<AccessRow>(
        `SELECT kind, id, data, created_at AS "createdAt", used_at AS "usedAt", retired_at AS "retiredAt"
         FROM access_records ORDER BY number`,
      )
      return rows.map((row) => recordOf({ ...row, id: original(row.id) }))
    },
    async putAccessRecord({ kind, id, data, createdAt, usedAt, retiredAt }) {
      await database.query(
        `INSERT INTO access_records (kind, id, data, created_at, used_at, retired_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (kind, id) DO UPDATE SET data = excluded.data, created_at = excluded.created_at,
           retired_at = coalesce(access_records.retired_at, excluded.retired_at)`,
        [kind, safeText(id), JSON.stringify(data), createdAt, usedAt ?? null, retiredAt ?? null],
      )
    },
    retireAccessRecord: (kind, id, at) =>
      hasChanged(
        'UPDATE access_records SET retired_at = $3 WHERE kind = $1 AND id = $2 AND retired_at IS NULL',
        [kind, safeText(id), at],
      ),
    async touchAccessRecord(kind, id, usedAt) {
      const values = [kind, safeText(id), usedAt]
      await database.query('UPDATE access_records SET used_at = $3 WHERE kind = $1 AND id = $2', values)
    },
    removeAccessRecord: (kind, id) =>
      hasChanged('DELETE FROM access_records WHERE kind = $1 AND id = $2', [kind, safeText(id)]),
  }
}
