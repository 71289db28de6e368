import {
  type Actor,
  defined,
  ParleyError,
  type Project,
  type ProjectAt,
  type ProjectField,
  ProjectPatch,
  projectIdOf,
  projectName,
  projectOfId,
  projectRoot,
} from '@parley/protocol'
import { checked } from './checked.ts'
import { type Clock, withinTime } from './clock.ts'
import type { HostOptions } from './host-options.ts'
import type { ProjectGroup, SessionStore, StoredProjectSetting } from './session-store.ts'
import { isRemoteMark } from './session-worktrees.ts'

/** The projects of the sessions: their numbers of sessions, and the settings that people have set. */
export type Projects = {
  /**
   * Lists the projects, the most recently used first. With `within`, lists and counts only what it permits, without
   * settings.
   */
  projects(within?: ProjectLimits): Promise<Project[]>
  /**
   * Changes settings of a project. Rejects with ParleyError `not_found` for a project that has neither sessions nor
   * settings.
   */
  patchProject(projectId: string, patch: ProjectPatch, by?: Actor): Promise<Project>
}

export type ProjectLimits = {
  /** The ids of the sessions to count. If absent, all sessions that `permits` accepts are counted. */
  readonly sessions?: readonly string[] | undefined
  readonly permits: (group: Pick<ProjectGroup, 'folder' | 'place' | 'agent'>) => boolean
}

type ProjectParts = Pick<HostOptions, 'branchOf' | 'checkFolder' | 'projectOf'> & {
  readonly store: SessionStore
  readonly clock: Clock
  /** The place of this process. */
  readonly place: string | undefined
}

const maxFolders = 50
/**
 * The maximum number of branches that are read for a list, and the time limit for reading them. A folder on a network
 * can be slow.
 */
const maxBranches = 200
const branchesMs = 500

/**
 * Adds the project to sessions that have none, and returns the operations. Called before sessions are loaded, because a
 * session in memory keeps its project.
 */
export async function createProjects(parts: ProjectParts): Promise<Projects> {
  const { store, clock, place } = parts
  const [first] = await store.withoutProject({ after: '', limit: 1, ...defined({ place }) })
  if (first) await (await import('./add-projects.ts')).addProjects(parts)

  async function list(within?: ProjectLimits): Promise<Project[]> {
    const groups = await store.projectGroups(defined({ sessions: within?.sessions }))
    const settings = within ? [] : (await store.projectSettings()).filter((one) => !isRemoteMark(one))
    const found = new Map<string, ProjectGroup[]>()
    for (const group of groups) {
      if (within && !within.permits(group)) continue
      const id = projectIdOf(group)
      found.set(id, [...(found.get(id) ?? []), group])
    }
    const ofSettings = Map.groupBy(settings, projectIdOf)
    const ids = new Set([...found.keys(), ...ofSettings.keys()])
    const all = [...ids].map((id) => projectFrom(id, found.get(id) ?? [], ofSettings.get(id) ?? []))
    const shown = within ? all.map(({ settings: _, changes: __, ...project }) => project) : all
    return withBranches(
      parts,
      shown.toSorted((a, b) => (b.usedAt ?? 0) - (a.usedAt ?? 0) || byId(a, b)),
    )
  }

  return {
    projects: list,
    async patchProject(projectId, given, by) {
      const patch = checked(ProjectPatch, given, 'The settings of the project')
      const at = projectOfId(projectId)
      const known = at && (await list()).some(({ id }) => id === projectId)
      if (!known) throw unknownProject(projectId)
      const change = { at: clock.now(), ...defined({ by }) }
      const changed = (Object.keys(patch) as ProjectField[]).toSorted()
      await store.setProjectSettings(
        changed.map((field) => ({ ...at, field, value: patch[field] ?? null, ...change })),
      )
      const after = (await list()).find(({ id }) => id === projectId)
      // A project without sessions ceases to exist with its last setting.
      return after ?? projectFrom(projectId, [], [])
    },
  }
}

function projectFrom(
  id: string,
  groups: readonly ProjectGroup[],
  stored: readonly StoredProjectSetting[],
): Project {
  const at: ProjectAt = projectOfId(id) ?? { project: '' }
  const sum = (count: (group: ProjectGroup) => number) =>
    groups.reduce((total, group) => total + count(group), 0)
  const settings: Project['settings'] = Object.fromEntries(stored.map(({ field, value }) => [field, value]))
  const changes = Object.fromEntries(
    stored.map(({ field, at: changedAt, by }) => [field, { at: changedAt, ...defined({ by }) }]),
  )
  return {
    id,
    project: at.project,
    ...defined({ place: at.place }),
    root: projectRoot(at.project),
    name: settings.name ?? projectName(at.project),
    folders: foldersOf(groups),
    sessions: sum(({ sessions }) => sessions),
    archived: sum(({ archived }) => archived),
    waiting: sum(({ waiting }) => waiting),
    ...(groups.length > 0 && { usedAt: Math.max(...groups.map(({ usedAt }) => usedAt)) }),
    settings,
    ...(stored.length > 0 && { changes }),
  }
}

function foldersOf(groups: readonly ProjectGroup[]): Project['folders'] {
  const byUse = groups.toSorted((a, b) => b.usedAt - a.usedAt || (a.folder < b.folder ? -1 : 1))
  const folders = Map.groupBy(byUse, ({ folder }) => folder)
  return Array.from(folders, ([folder, its]) => ({
    folder,
    sessions: its.reduce((total, { sessions }) => total + sessions, 0),
  })).slice(0, maxFolders)
}

/** Adds the branches of the folders at this place. Those that are not read in time are left out. */
async function withBranches(
  { branchOf, clock, place }: ProjectParts,
  projects: readonly Project[],
): Promise<Project[]> {
  const here = projects.filter((project) => project.place === place)
  const folders = [...new Set(here.flatMap(foldersToRead))]
  const branches = new Map<string, string>()
  if (!branchOf || folders.length === 0) return [...projects]
  const reading = folders.slice(0, maxBranches).map(async (folder) => {
    const branch = await branchOf(folder).catch(() => undefined)
    if (branch !== undefined) branches.set(folder, branch)
  })
  await withinTime(clock, branchesMs, Promise.all(reading))
  const isHere = new Set(here)
  const withBranch = <One extends object>(one: One, folder: string): One => ({
    ...one,
    ...defined({ branch: branches.get(folder) }),
  })
  return projects.map((project) => {
    if (!isHere.has(project)) return project
    const folders = project.folders.map((one) => withBranch(one, one.folder))
    return withBranch({ ...project, folders }, project.root)
  })
}

/**
 * The folders whose branches are read. The root is included only if the caller sees the whole project or a session
 * there.
 */
function foldersToRead({ root, folders, settings }: Project): string[] {
  const own = folders.map(({ folder }) => folder)
  return settings ? [root, ...own] : own
}

function byId(a: Project, b: Project): number {
  return a.id < b.id ? -1 : 1
}

function unknownProject(id: string): ParleyError {
  const message = `There is no project ${id}. List the projects to see their ids.`
  return new ParleyError('not_found', message)
}
