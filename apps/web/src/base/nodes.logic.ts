import type { NodeInfo } from '@parley/protocol'

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
