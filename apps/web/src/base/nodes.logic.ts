import type { NodeInfo, NodeList } from '@parley/protocol'

type Machine = {
  readonly name: string
  /** True if no server runs on the machine now. */
  readonly isAway: boolean
}

/** The machine of a place. Undefined if the place needs no name, because there is no other machine. */
export function machineOf(nodes: readonly NodeInfo[], place: string | undefined): Machine | undefined {
  if (place === undefined || nodes.length === 0) return undefined
  const there = nodes.filter((node) => node.place === place)
  const isAway = !there.some(({ state }) => state !== 'gone')
  if (!isAway && nodes.every((node) => node.place === place)) return undefined
  return { name: there.at(-1)?.machine ?? place, isAway }
}

/** Whether a folder of the place is on the machine of the server that the page uses. */
export function isOwnPlace(nodes: readonly NodeInfo[], place: string | undefined): boolean {
  return place === undefined || nodes.some((node) => node.isSelf && node.place === place)
}

/** The name of the machine of a place, if no server runs there. */
export function awaitedName(nodes: readonly NodeInfo[], place: string | undefined): string | undefined {
  const machine = machineOf(nodes, place)
  return machine?.isAway ? machine.name : undefined
}

/**
 * The delay before the nodes are loaded again. It is short if there are several nodes: the header of a session must not
 * name a node that has stopped. Undefined on SQLite, which has only one node.
 */
export function refreshDelay({ nodes, database }: NodeList): number | undefined {
  if (nodes.length === 0) return 1_000
  if (!database) return undefined
  return nodes.length > 1 ? 2_000 : 15_000
}
