import { defined, projectIdOf, type SessionState } from '@parley/protocol'
import type { ProjectGroup, SessionStore, StoredProjectSetting } from '../core/session-store.ts'
import { inSettingOrder } from './session-listing.ts'

type ProjectMethods = Pick<
  SessionStore,
  'withoutProject' | 'addProjects' | 'projectGroups' | 'projectSettings' | 'setProjectSettings'
>

type Kept = { state: SessionState; project?: string | undefined }

export function createMemoryProjects(sessions: ReadonlyMap<string, Kept>): ProjectMethods {
  const settings = new Map<string, StoredProjectSetting>()
  return {
    async withoutProject({ after, limit }) {
      return [...sessions]
        .filter(([id, kept]) => id > after && kept.project === undefined)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .slice(0, limit)
        .map(([sessionId, { state }]) => ({ sessionId, folder: state.cwd }))
    },
    async addProjects(found) {
      for (const { sessionId, project } of found) {
        const kept = sessions.get(sessionId)
        if (kept) kept.project ??= project
      }
    },
    async projectGroups({ sessions: ids }) {
      const groups = new Map<string, ProjectGroup>()
      for (const [id, { state, project }] of sessions) {
        if (project === undefined || ids?.includes(id) === false) continue
        const { cwd: folder, agent, archived, requests, updatedAt } = state
        const key = JSON.stringify([project, folder, agent])
        const before = groups.get(key)
        groups.set(key, {
          ...{ project, folder, agent },
          sessions: (before?.sessions ?? 0) + Number(!archived),
          archived: (before?.archived ?? 0) + Number(archived),
          waiting: (before?.waiting ?? 0) + Number(!archived && requests.length > 0),
          usedAt: Math.max(before?.usedAt ?? 0, updatedAt),
        })
      }
      return [...groups.values()]
    },
    projectSettings: async () => inSettingOrder([...settings.values()].map((one) => structuredClone(one))),
    async setProjectSettings(given) {
      for (const { project, place: _, ...setting } of given) {
        const key = `${projectIdOf({ project })} ${setting.field}`
        settings.delete(key)
        if (setting.value !== null) settings.set(key, structuredClone({ project, ...defined(setting) }))
      }
    },
  }
}
