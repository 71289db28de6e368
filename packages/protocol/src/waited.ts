import type { Block, BlockOf } from './block.ts'

/**
 * By tool call and by end of a turn, how long, in milliseconds, people were asked about it and nobody had answered.
 * Requests that overlap count once, and one that is still open not at all.
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

/** For how much of a time somebody was asked. It may have no end yet. */
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
