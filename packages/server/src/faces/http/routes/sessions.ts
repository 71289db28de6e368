import { defined, routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountSessions(app: App, parts: AppParts): void {
  mount(app, parts, routes.createSession, ({ body, host }) => host.create(body))
  mount(app, parts, routes.prepareSession, ({ body, host }) => host.prepareSession(body))
  mount(app, parts, routes.listSessions, ({ query: { archived, ...query }, host }) =>
    host.list(defined({ ...query, archived: archived === 'all' ? undefined : archived === 'true' })),
  )
  mount(app, parts, routes.getSession, ({ params, query, host }) => host.detail(params.id, query.tail))
  mount(app, parts, routes.patchSession, ({ params, body, host }) => host.patch(params.id, body))
  mount(app, parts, routes.deleteSession, ({ params, host }) => host.delete(params.id))
  mount(app, parts, routes.previewRewind, ({ params, query, host }) =>
    host.previewRewind(params.id, query.promptId),
  )
  mount(app, parts, routes.previewHandOff, ({ params, query, host }) =>
    host.previewHandOff(params.id, defined(query)),
  )
  mount(app, parts, routes.command, ({ params, body, host }) => host.command(params.id, body))
}
