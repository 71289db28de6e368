import { type Actor, defined, type SessionState } from '@parley/protocol'
import type { ProjectGroup, SessionStore, StoredProjectSetting } from '../core/session-store.ts'
import { inSettingOrder } from './session-listing.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { parseRow } from './sqlite-failure.ts'

type ProjectMethods = Pick<
  SessionStore,
  'withoutProject' | 'addProjects' | 'projectGroups' | 'projectSettings' | 'setProjectSettings'
>

type SettingRow = Pick<StoredProjectSetting, 'project' | 'field' | 'at'> & {
  readonly value: string
  readonly by: string | null
}

/** `stateOf` reads the state of a session, even if the stored state is damaged. */
export function createSqliteProjects(
  database: SqliteDatabase,
  stateOf: (key: number) => SessionState,
): ProjectMethods {
  const selectWithout = database.prepare(
    'SELECT key, id FROM sessions WHERE project IS NULL AND id > ? ORDER BY id LIMIT ?',
  )
  const add = database.prepare('UPDATE sessions SET project = ?, folder = ? WHERE id = ? AND project IS NULL')
  const groups = (condition: string) =>
    `SELECT project, folder, agent, sum(archived = 0) AS sessions, sum(archived) AS archived,
       sum(archived = 0 AND waiting_since IS NOT NULL) AS waiting, max(updated_at) AS usedAt
     FROM sessions WHERE project IS NOT NULL ${condition} GROUP BY project, folder, agent`
  const selectGroups = database.prepare(groups(''))
  const selectGroupsOf = database.prepare(groups('AND id IN (SELECT value FROM json_each(?))'))
  const selectSettings = database.prepare(
    'SELECT project, field, value, changed_at AS at, changed_by AS by FROM project_settings',
  )
  const put = database.prepare(
    `INSERT INTO project_settings (project, field, value, changed_at, changed_by) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (project, field) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at,
       changed_by = excluded.changed_by`,
  )
  const remove = database.prepare('DELETE FROM project_settings WHERE project = ? AND field = ?')
  return {
    withoutProject: async ({ after, limit }) =>
      database.read(() => {
        const rows = selectWithout.all(after, limit) as { key: number; id: string }[]
        return rows.map(({ key, id }) => ({ sessionId: id, folder: stateOf(key).cwd }))
      }),
    addProjects: async (found) =>
      database.write(() => {
        for (const { sessionId, folder, project } of found) add.run(project, folder, sessionId)
      }),
    projectGroups: async ({ sessions }) =>
      database.read(() => {
        const rows = sessions ? selectGroupsOf.all(JSON.stringify(sessions)) : selectGroups.all()
        return rows.map((row) => ({ ...row }) as ProjectGroup)
      }),
    projectSettings: async () =>
      database.read(() => inSettingOrder((selectSettings.all() as SettingRow[]).map(settingOf))),
    setProjectSettings: async (settings) =>
      database.write(() => {
        for (const { project, field, value, at, by } of settings)
          if (value === null) remove.run(project, field)
          else put.run(project, field, JSON.stringify(value), at, by ? JSON.stringify(by) : null)
      }),
  }
}

function settingOf({ value, by, ...row }: SettingRow): StoredProjectSetting {
  const what = `the setting ${row.field} of ${row.project}`
  return {
    ...row,
    value: parseRow<StoredProjectSetting['value']>(value, what),
    ...defined({ by: by === null ? undefined : parseRow<Actor>(by, what) }),
  }
}
