import { hostname } from 'node:os'
import { type NodeInfo, routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountNodes(app: App, parts: AppParts): void {
  mount(app, parts, routes.listNodes, async ({ query: { check } }) =>
    parts.nodes ? await parts.nodes(check) : { nodes: [onlyNode(parts)] },
  )
}

function onlyNode({ url, version }: AppParts): NodeInfo {
  const startedAt = Math.round(performance.timeOrigin)
  return { id: 1, url: url(), machine: hostname(), version, startedAt, isSelf: true, state: 'alive' }
}
