import { type Project, projectIdOf, projectOf, type SessionSummary } from '@parley/protocol'
import { useEffect, useSyncExternalStore } from 'react'
import { client } from '../base/client.ts'
import { createStore } from '../base/store.ts'

export type Projects = ReadonlyMap<string, Project>

const projects = createStore<Projects>(new Map())
/**
 * The minimum time between two requests, because the server reads the branches from files for each list and a
 * busy session changes with every event.
 */
const pauseMs = 3_000
let loadedAt = Number.NEGATIVE_INFINITY
let timer: ReturnType<typeof setTimeout> | undefined
let isWatching = false

/** The projects by their id, the most recently used first. Loaded again after sessions change and when the page is shown. */
export function useProjects(): Projects {
  useEffect(watch, [])
  return useSyncExternalStore(projects.subscribe, projects.get)
}

/** Loads the projects now, for example after a change of their settings. */
export async function loadProjects(): Promise<void> {
  clearTimeout(timer)
  timer = undefined
  loadedAt = performance.now()
  await client.call('listProjects').then(
    (reply) => projects.set(new Map(reply.projects.map((project) => [project.id, project]))),
    // A server without projects, or no connection: sessions are then grouped by their folders.
    () => undefined,
  )
}

function watch(): void {
  if (isWatching) return
  isWatching = true
  client.socket.onStatus(({ state }) => state === 'open' && loadSoon())
  // A working session changes all the time. Its effects on the project are loaded when its turn ends.
  client.socket.onFrame(
    (frame) => frame.type === 'session-changed' && frame.summary?.status !== 'working' && loadSoon(),
  )
  document.addEventListener('visibilitychange', () => document.hidden || loadSoon())
  loadSoon()
}

function loadSoon(): void {
  if (document.hidden) return
  timer ??= setTimeout(() => void loadProjects(), Math.max(0, loadedAt + pauseMs - performance.now()))
}

type InProject = Pick<SessionSummary, 'project' | 'cwd' | 'place'>

/** The id of the project of a session, as in the list of projects. */
export function projectIdFor(session: InProject): string {
  return projectIdOf({ project: projectOf(session), place: session.place })
}

/**
 * The folder for a new session: the root of the project, or the folder that was used last if the root is a
 * bare repository, which has no work tree.
 */
export function folderOfProject({
  project,
  root,
  folders,
}: Pick<Project, 'project' | 'root' | 'folders'>): string {
  const isBare = project === root && !folders.some(({ folder }) => folder === root)
  return isBare ? (folders[0]?.folder ?? root) : root
}
