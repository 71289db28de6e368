import type { NodeInfo } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'

type Purpose = {
  readonly purpose: string
  /** A note on the servers on which changes take effect. Undefined if there is only one server. */
  readonly note?: string
}

/** Names the machine whose agents are listed. `from` is the node that listed them. */
export function agentsPurpose(
  from: Pick<NodeInfo, 'url' | 'machine'> | undefined,
  nodes: readonly NodeInfo[],
): Purpose {
  const isOnlyOne = nodes.filter(({ state }) => state !== 'gone').length < 2
  if (!from || isOnlyOne) return { purpose: 'The coding agents on the server’s machine.' }
  const machine = visible(from.machine)
  return {
    purpose: `The coding agents on ${machine}, as the node ${visible(from.url)} lists them.`,
    note: `Installed agents, added agents and API keys belong to this node; a sign-in belongs to ${machine}. Other nodes have their own. Behind a load balancer, each request can reach another node: to set up the agents of a node, open the console at its own address.`,
  }
}
