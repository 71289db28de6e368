import { type Actor, defined, type ProjectField } from '@parley/protocol'
import type { SessionStore, StoredProjectSetting } from '../../core/session-store.ts'
import { inSettingOrder } from '../session-listing.ts'
import type { PostgresDatabase } from './database.ts'
import { original, parseState, safeText } from './session-columns.ts'

type ProjectMethods = Pick<
  SessionStore,
  'withoutProject' | 'addProjects' | 'projectGroups' | 'projectSettings' | 'setProjectSettings'
>

export function createPostgresProjects(database: PostgresDatabase): ProjectMethods {
  return {
    async withoutProject({ place, after, limit }) {
      const rows = await database.read<{ id: string; state: string; project: null }>(
        `SELECT id, state, project FROM sessions WHERE project IS NULL AND id > $1
           AND place IS NOT DISTINCT FROM $2 ORDER BY id LIMIT $3`,
        [after === '' ? '' : safeText(after), place ?? null, limit],
      )
      return rows.map((row) => ({ sessionId: original(row.id), folder: parseState(row).cwd }))
    },
    async addProjects(found) {
      await database.query(
        `UPDATE sessions SET project = t.project, folder = t.folder
         FROM unnest($1::text[], $2::text[], $3::text[]) AS t(id, folder, project)
         WHERE sessions.id = t.id AND sessions.project IS NULL`,
        [
          found.map(({ sessionId }) => safeText(sessionId)),
          found.map(({ folder }) => safeText(folder)),
          found.map(({ project }) => safeText(project)),
        ],
      )
    },
    async projectGroups({ sessions }) {
      const rows = await database.read<GroupRow>(
        `SELECT project, place, folder, agent, count(*) FILTER (WHERE NOT archived) AS sessions,
           count(*) FILTER (WHERE archived) AS archived,
           count(waiting_since) FILTER (WHERE NOT archived) AS waiting, max(updated_at) AS "usedAt"
         FROM sessions WHERE project IS NOT NULL AND ($1::text[] IS NULL OR id = ANY ($1))
         GROUP BY project, place, folder, agent`,
        [sessions?.map(safeText) ?? null],
      )
      return rows.map(({ project, place, folder, agent, ...figures }) => ({
        project: original(project),
        ...defined({ place: place ?? undefined }),
        folder: original(folder),
        agent: original(agent),
        ...figures,
      }))
    },
    ...settingMethods(database),
  }
}

type GroupRow = {
  readonly project: string
  readonly place: string | null
  readonly folder: string
  readonly agent: string
  readonly sessions: number
  readonly archived: number
  readonly waiting: number
  readonly usedAt: number
}

type SettingRow = {
  readonly project: string
  readonly place: string
  readonly field: ProjectField
  readonly value: string
  readonly at: number
  readonly by: string | null
}

function settingMethods(
  database: PostgresDatabase,
): Pick<ProjectMethods, 'projectSettings' | 'setProjectSettings'> {
  return {
    async projectSettings() {
      const rows = await database.read<SettingRow>(
        `SELECT project, place, field, value, changed_at AS at, changed_by AS by FROM project_settings`,
      )
      const settings = rows.map(({ project, place, field, value, at, by }) => ({
        project: original(project),
        ...(place !== '' && { place: original(place) }),
        field,
        value: JSON.parse(value) as StoredProjectSetting['value'],
        at,
        ...defined({ by: by === null ? undefined : (JSON.parse(by) as Actor) }),
      }))
      return inSettingOrder(settings)
    },
    async setProjectSettings(settings) {
      const rows = settings.map(({ project, place = '', field, value, at, by }) =>
        JSON.stringify({
          ...{ project: safeText(project), place: safeText(place), field, at },
          value: value === null ? null : JSON.stringify(value),
          by: by ? JSON.stringify(by) : null,
        }),
      )
      await database.query(
        `WITH given AS (SELECT r.*,
             encode(sha256(convert_to(json_build_array(project, place, field)::text, 'UTF8')), 'hex') AS key
           FROM unnest($1::text[]) AS t(text), json_to_record(t.text::json)
             AS r(project text, place text, field text, value text, at bigint, by text)),
         removed AS (DELETE FROM project_settings s USING given g WHERE g.value IS NULL AND s.key = g.key)
         INSERT INTO project_settings (key, project, place, field, value, changed_at, changed_by)
         SELECT key, project, place, field, value, at, by FROM given WHERE value IS NOT NULL
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at,
           changed_by = excluded.changed_by`,
        [rows],
      )
    },
  }
}
