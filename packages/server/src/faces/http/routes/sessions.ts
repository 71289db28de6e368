import { defined, routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountSessions(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.createSession, ({ body }) => host.create(body))
  mount(app, parts, routes.prepareSession, ({ body }) => host.prepareSession(body))
  mount(app, parts, routes.listSessions, ({ query: { archived, ...query } }) =>
    host.list(defined({ ...query, archived: archived === 'all' ? undefined : archived === 'true' })),
  )
  mount(app, parts, routes.getSession, ({ params, query }) => host.detail(params.id, query.tail))
  mount(app, parts, routes.patchSession, ({ params, body }) => host.patch(params.id, body))
  mount(app, parts, routes.deleteSession, ({ params }) => host.delete(params.id))
  mount(app, parts, routes.previewRewind, ({ params, query }) =>
    host.previewRewind(params.id, query.promptId),
  )
  mount(app, parts, routes.command, ({ params, body }) => host.command(params.id, body))
}
