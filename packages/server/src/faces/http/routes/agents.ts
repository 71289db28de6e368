import { routes } from '@parley/protocol'
import type { App, AppParts } from '../app.ts'
import { mount } from '../mount.ts'

export function mountAgents(app: App, parts: AppParts): void {
  mount(app, parts, routes.listAgents, async () => ({ agents: await parts.host.agents() }))
}
