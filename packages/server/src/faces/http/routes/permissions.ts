import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountPermissions(app: App, parts: AppParts): void {
  mount(app, parts, routes.listPermissions, async ({ host }) => ({ requests: await host.waiting() }))
  mount(app, parts, routes.listRules, async ({ host }) => ({ rules: await host.rules() }))
  mount(app, parts, routes.createRule, ({ body, host }) => host.addRule(body))
  mount(app, parts, routes.deleteRule, ({ params, host }) => host.removeRule(params.id))
  mount(app, parts, routes.listTrustedFolders, async ({ host }) => ({ folders: await host.trusted() }))
  mount(app, parts, routes.trustFolder, ({ body, host }) => host.trust(body.folder, body.place))
  mount(app, parts, routes.distrustFolder, ({ query, host }) => host.distrust(query.folder, query.place))
  mount(app, parts, routes.listEnvironments, async ({ host }) => ({
    environments: await host.environments(),
  }))
  mount(app, parts, routes.setEnvironment, ({ body, host }) => host.setEnvironment(body))
  mount(app, parts, routes.unsetEnvironment, ({ query, host }) => host.unsetEnvironment(query))
}
