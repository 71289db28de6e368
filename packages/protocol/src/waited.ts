import type { Block, BlockOf } from './block.ts'

/**
 * Maps each tool call, and each end of a turn, to its waiting time in milliseconds: the time during which at least
 * one of its requests waited for an answer. Overlapping requests count once; open requests do not count.
 */
export function waitsOf(timeline: readonly Block[]): ReadonlyMap<Block, number> {
  const byCall = new Map<string, Asked[]>()
  const byTurn = new Map<string, Asked[]>()
  for (const block of timeline) {
    if (block.type !== 'permission' && block.type !== 'question') continue
    add(byCall, block.request.toolCallId, block)
    add(byTurn, block.turnId, block)
  }
  const waits = new Map<Block, number>()
  for (const block of timeline) {
    if (block.type === 'tool-call') {
      waits.set(block, timeWaited(byCall.get(block.id), { from: block.at, to: block.endedAt }))
    } else if (block.type === 'turn-end') {
      const { at, end } = block
      waits.set(block, timeWaited(byTurn.get(block.turnId ?? ''), { from: at - end.durationMs, to: at }))
    }
  }
  return waits
}

type Asked = Pick<BlockOf<'permission'>, 'at' | 'resolvedAt'>

/**
 * The time between `from` and `to` during which at least one request waited. Without `to`, the period is still open.
 */
export function timeWaited(
  requests: readonly Asked[] = [],
  { from, to = Number.POSITIVE_INFINITY }: { readonly from: number; readonly to?: number | undefined },
): number {
  let total = 0
  let counted = from
  for (const { at, resolvedAt = at } of requests.toSorted((a, b) => a.at - b.at)) {
    const begin = Math.max(at, counted)
    const end = Math.min(resolvedAt, to)
    if (end <= begin) continue
    total += end - begin
    counted = end
  }
  return total
}

function add(map: Map<string, Asked[]>, key: string | undefined, request: Asked): void {
  if (key === undefined) return
  const known = map.get(key)
  if (known) known.push(request)
  else map.set(key, [request])
}
