import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { routes } from '@parley/protocol'
import { outsideLimits } from '../../../access/index.ts'
import type { Host } from '../../../core/index.ts'
import type { SessionFolders } from '../../../workspace/folder-contents.ts'
import { type App, type AppParts, mount, type RequestContext, wantsStream } from '../mount.ts'

export function mountWorkspace(app: App, parts: AppParts): void {
  const { workspace } = parts
  const folderOf = async (host: Host, sessionId: string) => {
    const { cwd, trusted } = await host.detail(sessionId, 0)
    return { path: cwd, trusted }
  }
  mount(app, parts, routes.findFolders, async ({ query, context, host }) => {
    const { limits } = context.get('caller').principal
    // A caller that may use only certain sessions cannot create sessions, so it needs no other folders.
    if (limits?.sessions) return { folders: [] }
    if (!limits?.folders) return { folders: await workspace.findFolders(query.q, query.limit) }
    const found = await workspace.findFolders(query.q, manyFolders)
    const permitted = await Promise.all(found.map((folder) => isPermitted(host, folder)))
    return { folders: found.filter((_, index) => permitted[index]).slice(0, query.limit) }
  })
  mount(app, parts, routes.findFiles, async ({ params, query, host }) => ({
    files: await workspace.findFiles((await folderOf(host, params.id)).path, query.q, query.limit),
  }))
  mount(app, parts, routes.findFilesIn, async ({ query, context, host }) => {
    const { limits } = context.get('caller').principal
    if (limits?.sessions) throw outsideLimits(`The folder ${query.cwd}`)
    const cwd = limits?.folders ? (await host.locateFolder(query.cwd)).folder : query.cwd
    return { files: await workspace.findFilesIn(cwd, query.q, query.limit) }
  })
  const sessionFolders = async (host: Host, sessionId: string, all: boolean): Promise<SessionFolders> => {
    const { cwd, requested } = await host.detail(sessionId, 0)
    // The limits of a caller apply to the first folder only. Whoever may read all files has no limits.
    return [cwd, ...((all && requested.options?.directories) || [])]
  }
  mount(app, parts, routes.readTree, async ({ params, query, host }) => {
    const all = query.all === 'true'
    return workspace.tree(await sessionFolders(host, params.id, all), { path: query.path, all })
  })
  mount(app, parts, routes.readFile, async ({ params, query, host }) => {
    const all = query.all === 'true'
    const { path, rev } = query
    return workspace.file(await sessionFolders(host, params.id, all), { path, rev, all })
  })
  mount(app, parts, routes.listChanges, async ({ params, query, context, host }) => {
    const folder = await folderOf(host, params.id)
    if (!wantsStream(context))
      return (await inScope()).changesInScope({ host, workspace, sessionId: params.id, folder, query })
    parts.changeStreams.open(folder, context.env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  mount(app, parts, routes.getPatch, async ({ params, query, host }) => {
    const folder = await folderOf(host, params.id)
    return (await inScope()).patchInScope(
      { host, workspace, sessionId: params.id, folder, query },
      { path: query.path, all: query.all === 'true' },
    )
  })
  mount(app, parts, routes.getBranch, ({ params, host }) => host.branch(params.id))
  mount(app, parts, routes.previewMerge, ({ params, host }) => host.previewMerge(params.id))
  mount(app, parts, routes.suggestMessage, ({ params, body, context, host }) =>
    host.suggestMessage(params.id, body.paths, untilGone(context)),
  )
  mount(app, parts, routes.getCheckLogs, ({ params, host }) => host.checkLogs(params.id))
  mount(app, parts, routes.getPullRequest, ({ params, host }) => host.pullRequest(params.id))
}

/** A signal that aborts when the client disconnects before it has got the answer. */
function untilGone({ env: { outgoing } }: RequestContext): AbortSignal {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  return gone.signal
}

/** Loaded on first use, because a server does not need this code at its start. */
const inScope = () => import('../changes-in-scope.ts')

/** The maximum number of folders that are compared with the limits of a caller. */
const manyFolders = 2_000

/** Whether the host for the caller permits the folder. */
async function isPermitted(host: Host, folder: string): Promise<boolean> {
  return host.locateFolder(folder).then(
    () => true,
    () => false,
  )
}
