import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountRules(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.listRules, async () => ({ rules: await host.rules() }))
  mount(app, parts, routes.createRule, ({ body }) => host.addRule(body))
  mount(app, parts, routes.deleteRule, async ({ params }) => {
    await host.removeRule(params.id)
    return null
  })
}
