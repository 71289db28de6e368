import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { routes } from '@parley/protocol'
import { type App, type AppParts, mount, wantsStream } from '../mount.ts'

export function mountWorkspace(app: App, parts: AppParts): void {
  const { host, workspace } = parts
  const folderOf = async (sessionId: string) => {
    const { cwd, trusted } = await host.detail(sessionId, 0)
    return { path: cwd, trusted }
  }
  mount(app, parts, routes.findFolders, async ({ query }) => ({
    folders: await workspace.findFolders(query.q, query.limit),
  }))
  mount(app, parts, routes.findFiles, async ({ params, query }) => ({
    files: await workspace.findFiles((await folderOf(params.id)).path, query.q, query.limit),
  }))
  mount(app, parts, routes.findFilesIn, async ({ query }) => ({
    files: await workspace.findFilesIn(query.cwd, query.q, query.limit),
  }))
  mount(app, parts, routes.listChanges, async ({ params, query, context }) => {
    const folder = await folderOf(params.id)
    if (!wantsStream(context)) return workspace.changes(folder, query.base)
    parts.changeStreams.open(folder, context.env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  mount(app, parts, routes.getPatch, async ({ params, query }) =>
    workspace.patch(await folderOf(params.id), query.path, query.base),
  )
}
