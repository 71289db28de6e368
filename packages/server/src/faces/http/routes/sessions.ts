import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountSessions(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.createSession, ({ body }) => host.create(body))
  mount(app, parts, routes.prepareSession, async ({ body }) => {
    await host.prepareSession(body)
    return null
  })
  mount(app, parts, routes.listSessions, ({ query: { q, agent, status, archived, limit, cursor } }) =>
    host.list({
      limit,
      ...(q !== undefined && { q }),
      ...(agent !== undefined && { agent }),
      ...(status !== undefined && { status }),
      ...(archived !== 'all' && { archived: archived === 'true' }),
      ...(cursor !== undefined && { cursor }),
    }),
  )
  mount(app, parts, routes.getSession, ({ params, query }) => host.detail(params.id, query.tail))
  mount(app, parts, routes.patchSession, ({ params, body }) => host.patch(params.id, body))
  mount(app, parts, routes.deleteSession, async ({ params }) => {
    await host.delete(params.id)
    return null
  })
  mount(app, parts, routes.previewRewind, ({ params, query }) =>
    host.previewRewind(params.id, query.promptId),
  )
  mount(app, parts, routes.command, ({ params, body }) => host.command(params.id, body))
}
