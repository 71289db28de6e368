import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountPermissions(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.listPermissions, async () => ({ requests: await host.waiting() }))
  mount(app, parts, routes.listRules, async () => ({ rules: await host.rules() }))
  mount(app, parts, routes.createRule, ({ body }) => host.addRule(body))
  mount(app, parts, routes.deleteRule, ({ params }) => host.removeRule(params.id))
  mount(app, parts, routes.listTrustedFolders, async () => ({ folders: await host.trusted() }))
  mount(app, parts, routes.trustFolder, ({ body }) => host.trust(body.folder, body.place))
  mount(app, parts, routes.distrustFolder, ({ query }) => host.distrust(query.folder, query.place))
  mount(app, parts, routes.listEnvironments, async () => ({ environments: await host.environments() }))
  mount(app, parts, routes.setEnvironment, ({ body }) => host.setEnvironment(body))
  mount(app, parts, routes.unsetEnvironment, ({ query }) => host.unsetEnvironment(query))
}
