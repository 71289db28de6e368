import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { routes } from '@parley/protocol'
import { outsideLimits, permitsFolder } from '../../../access/index.ts'
import type { Host } from '../../../core/index.ts'
import { type App, type AppParts, mount, type RequestContext, wantsStream } from '../mount.ts'

export function mountWorkspace(app: App, parts: AppParts): void {
  const { workspace } = parts
  const folderOf = async (host: Host, sessionId: string) => {
    const { cwd, trusted } = await host.detail(sessionId, 0)
    return { path: cwd, trusted }
  }
  mount(app, parts, routes.findFolders, async ({ query, context }) => {
    const folders = await workspace.findFolders(query.q, query.limit)
    const permitted = await Promise.all(folders.map((folder) => permits(parts, context, folder)))
    return { folders: folders.filter((_, index) => permitted[index]) }
  })
  mount(app, parts, routes.findFiles, async ({ params, query, host }) => ({
    files: await workspace.findFiles((await folderOf(host, params.id)).path, query.q, query.limit),
  }))
  mount(app, parts, routes.findFilesIn, async ({ query, context }) => {
    if (!(await permits(parts, context, query.cwd))) throw outsideLimits(`The folder ${query.cwd}`)
    return { files: await workspace.findFilesIn(query.cwd, query.q, query.limit) }
  })
  mount(app, parts, routes.listChanges, async ({ params, query, context, host }) => {
    const folder = await folderOf(host, params.id)
    if (!wantsStream(context)) return workspace.changes(folder, query.base)
    parts.changeStreams.open(folder, context.env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  mount(app, parts, routes.getPatch, async ({ params, query, host }) =>
    workspace.patch(await folderOf(host, params.id), query.path, query.base),
  )
}

/** Whether the folder is within the limits of the caller. */
async function permits({ host }: AppParts, context: RequestContext, folder: string): Promise<boolean> {
  const { limits } = context.get('caller').principal
  if (!limits) return true
  const at = await host.locateFolder(folder).catch(() => undefined)
  return at !== undefined && permitsFolder(limits, at)
}
