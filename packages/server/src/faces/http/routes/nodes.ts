import { hostname } from 'node:os'
import { type NodeInfo, routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountNodes(app: App, parts: AppParts): void {
  mount(app, parts, routes.listNodes, async ({ query: { check } }) =>
    parts.nodes ? await parts.nodes.list(check) : { nodes: [onlyNode(parts)] },
  )
  mount(app, parts, routes.getSessionNode, async ({ params, host }) => {
    if (parts.nodes) return await parts.nodes.ofSession(params.id)
    // Refuses an unknown session.
    await host.state(params.id)
    const { id, url, machine } = onlyNode(parts)
    return { machine, node: { id, url } }
  })
}

function onlyNode({ address, version }: AppParts): NodeInfo {
  const startedAt = Math.round(performance.timeOrigin)
  const about = { url: address.ownUrl, machine: hostname(), version, startedAt }
  return { id: 1, ...about, isSelf: true, state: 'alive' }
}
