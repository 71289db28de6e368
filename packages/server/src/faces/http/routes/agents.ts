import { capabilityInfos, routes } from '@parley/protocol'
import type { App, AppParts } from '../app.ts'
import { mount } from '../mount.ts'

export function mountAgents(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.listAgents, async () => ({
    agents: await host.agents(),
    capabilities: capabilityInfos(),
  }))
  mount(app, parts, routes.listModels, async () => ({ agents: await host.models() }))
  mount(app, parts, routes.installAgent, async ({ params }) => ({
    installing: await host.installAgent(params.id),
  }))
  mount(app, parts, routes.removeAgent, async ({ params }) => {
    await host.removeAgent(params.id)
    return null
  })
  mount(app, parts, routes.listConversations, async ({ params, query }) => ({
    conversations: await host.conversations(params.id, query.cwd === undefined ? {} : { cwd: query.cwd }),
  }))
  mount(app, parts, routes.importConversation, ({ body }) => host.importConversation(body))
}
