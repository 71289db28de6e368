import { projectName, projectOf, projectRoot, type SessionSummary } from '@parley/protocol'

/** Sessions under one heading: the pinned sessions, or those of a project. */
export type SessionGroup = {
  readonly key: string
  readonly name: string
  /** The folder of the project; absent for the pinned sessions. */
  readonly root?: string
  /** The place of the project, if several servers share a database. */
  readonly place?: string
  readonly sessions: readonly SessionSummary[]
}

export const pinnedKey = 'pinned'

type Named = ReadonlyMap<string, { readonly name: string }>

/**
 * The pinned sessions, then a group for each project. Projects are sorted by the creation time of their
 * newest session, so groups do not move while their sessions work.
 */
export function groupsOf(
  sessions: readonly SessionSummary[],
  projects: Named,
  idOf: (session: SessionSummary) => string,
): SessionGroup[] {
  const pinned = sessions.filter((session) => session.pinned)
  const byProject = Map.groupBy(
    sessions.filter((session) => !session.pinned),
    idOf,
  )
  const groups = Array.from(byProject, ([key, its]): SessionGroup => {
    const [first] = its as [SessionSummary, ...SessionSummary[]]
    const project = projectOf(first)
    const name = projects.get(key)?.name ?? projectName(project)
    const place = first.place !== undefined && { place: first.place }
    return { key, name, root: projectRoot(project), ...place, sessions: its }
  })
  const newest = new Map(
    groups.map(({ key, sessions: its }) => [key, Math.max(...its.map(({ createdAt }) => createdAt))]),
  )
  groups.sort((a, b) => (newest.get(b.key) ?? 0) - (newest.get(a.key) ?? 0) || (a.key < b.key ? -1 : 1))
  return pinned.length > 0 ? [{ key: pinnedKey, name: 'Pinned', sessions: pinned }, ...groups] : groups
}

const firstRows = 8

/**
 * The sessions of a group that are shown at first: the latest sessions, and those that need attention or are
 * open.
 */
export function shownAtFirst(
  sessions: readonly SessionSummary[],
  here: string | undefined,
): readonly SessionSummary[] {
  // The button that shows the other sessions would need as much room as the row of a single session.
  if (sessions.length <= firstRows + 1) return sessions
  return sessions.filter(
    ({ id, waiting, status }, index) => index < firstRows || id === here || waiting > 0 || status !== 'idle',
  )
}

/**
 * Whether a session works in another checkout than the root of its project, even if Parley did not make that
 * checkout.
 */
export function isInWorktree(session: Pick<SessionSummary, 'project' | 'cwd' | 'worktree'>): boolean {
  const { project, cwd, worktree } = session
  if (worktree !== undefined) return true
  if (project === undefined || project === cwd) return false
  const root = projectRoot(project)
  return cwd !== root && !cwd.startsWith(root.endsWith('/') ? root : `${root}/`)
}

/** The beginning of a title that a row of the list has room for. */
const shownTitle = 24

/**
 * The sessions whose rows look like the row of a session with another agent, such as a session and its hand-off. The
 * number of an attempt distinguishes it already.
 */
export function lookingAlike(
  sessions: readonly SessionSummary[],
  agentName: (agent: string) => string,
): ReadonlySet<string> {
  const alike = Map.groupBy(
    sessions.filter(({ round }) => round === undefined),
    ({ title, agent }) => title.replace(` (${agentName(agent)})`, '').slice(0, shownTitle),
  )
  return new Set(
    Array.from(alike.values()).flatMap((its) =>
      its.some(({ agent }) => agent !== its[0]?.agent) ? its.map(({ id }) => id) : [],
    ),
  )
}

/** Names that several groups share. Such groups also show their folders. */
export function sharedNames(groups: readonly SessionGroup[]): ReadonlySet<string> {
  const counts = Map.groupBy(groups, ({ name }) => name)
  return new Set(Array.from(counts).flatMap(([name, its]) => (its.length > 1 ? [name] : [])))
}
