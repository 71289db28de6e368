import { capabilityInfos, defined, type NodeInfo, ParleyError, routes } from '@parley/protocol'
import { type App, type AppParts, mount, type RequestContext } from '../mount.ts'

/**
 * Refuses requests from pages of other allowed origins: only the console and programs may configure agents
 * and keys.
 */
function refuseOtherPages({ env }: RequestContext, { authentication }: AppParts): void {
  if (authentication.source.sharedOrigin(env.incoming) === undefined) return
  throw new ParleyError('forbidden', 'A page of another origin may not set up agents. Use the console.')
}

/** Names this node. Undefined on SQLite, and while PostgreSQL does not answer. */
async function thisNode({ nodes }: AppParts): Promise<Pick<NodeInfo, 'url' | 'machine'> | undefined> {
  const list = await nodes?.list().catch(() => undefined)
  const self = list?.nodes.find(({ isSelf }) => isSelf)
  return self && { url: self.url, machine: self.machine }
}

export function mountAgents(app: App, parts: AppParts): void {
  mount(app, parts, routes.listAgents, async ({ host }) => {
    const [agents, failures, node] = await Promise.all([
      host.agents(),
      host.adapterFailures(),
      thisNode(parts),
    ])
    const failed = failures.length > 0 ? { failures: [...failures] } : {}
    return { agents, ...failed, capabilities: capabilityInfos(), ...defined({ node }) }
  })
  mount(app, parts, routes.listModels, async ({ host }) => ({ agents: await host.models() }))
  mount(app, parts, routes.addAgent, ({ body, context, host }) => {
    refuseOtherPages(context, parts)
    return host.addAgent(body)
  })
  mount(app, parts, routes.forgetAgent, ({ params, context, host }) => {
    refuseOtherPages(context, parts)
    return host.forgetAgent(params.id)
  })
  mount(app, parts, routes.setAgentKey, async ({ params, body, context, host }) => {
    refuseOtherPages(context, parts)
    await host.setAgentKey(params.id, body)
  })
  mount(app, parts, routes.removeAgentKey, async ({ params, query, context, host }) => {
    refuseOtherPages(context, parts)
    await host.removeAgentKey(params.id, query.variable)
  })
  mount(app, parts, routes.testAgent, async ({ params, context, host }) => {
    refuseOtherPages(context, parts)
    return { checks: await host.testAgent(params.id) }
  })
  mount(app, parts, routes.installAgent, async ({ params, host }) => ({
    installing: await host.installAgent(params.id),
  }))
  mount(app, parts, routes.removeAgent, ({ params, host }) => host.removeAgent(params.id))
  mount(app, parts, routes.listConversations, async ({ params, query, host }) => ({
    conversations: await host.conversations(params.id, defined(query)),
  }))
  mount(app, parts, routes.importConversation, ({ body, host }) => host.importConversation(body))
}
