import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountEnvironment(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.listEnvironments, async () => ({ environments: await host.environments() }))
  mount(app, parts, routes.setEnvironment, ({ body }) => host.setEnvironment(body))
  mount(app, parts, routes.unsetEnvironment, async ({ query }) => {
    await host.unsetEnvironment(query)
    return null
  })
}
