import { defined } from '@parley/protocol'
import { type Clock, withinTime } from './clock.ts'
import type { HostOptions } from './host-options.ts'
import type { SessionStore } from './session-store.ts'

const pageSize = 500
/**
 * A folder on a network may never answer, so the start waits `folderMs` for a folder, and for at most `maxLate` such
 * folders.
 */
const folderMs = 2_000
const maxLate = 3

type Parts = Pick<HostOptions, 'checkFolder' | 'projectOf'> & {
  readonly store: SessionStore
  readonly clock: Clock
  /** Only the folders of this place can be read. */
  readonly place: string | undefined
}

/**
 * Adds the project to sessions of this place that earlier versions stored without one. Their logs are not changed. A
 * folder that is gone, or that has been replaced by a link, becomes a project by itself, because its former
 * repository is unknown.
 */
export async function addProjects({ store, clock, place, checkFolder, projectOf }: Parts): Promise<void> {
  if (!projectOf) return
  const known = new Map<string, string | undefined>()
  let late = 0
  const find = async (folder: string) => {
    let project: string | undefined
    if (late === maxLate) return undefined
    const finding = checkFolder(folder)
      .catch(() => undefined)
      .then(async (real) => {
        project = real === folder ? (await projectOf(folder)).project : folder
      })
    await withinTime(clock, folderMs, finding)
    if (project === undefined) late++
    return project
  }
  for (let after = ''; ; ) {
    const page = await store.withoutProject({ after, limit: pageSize, ...defined({ place }) })
    for (const { folder } of page) if (!known.has(folder)) known.set(folder, await find(folder))
    const found = page.flatMap(({ sessionId, folder }) => {
      const project = known.get(folder)
      return project === undefined ? [] : [{ sessionId, folder, project }]
    })
    if (found.length > 0) await store.addProjects(found)
    const last = page.at(-1)
    if (!last || page.length < pageSize) return
    after = last.sessionId
  }
}
