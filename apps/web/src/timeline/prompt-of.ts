import type { Block, BlockOf } from '@parley/protocol'

/** The prompt that started a turn, if it is loaded. */
export function promptOf(
  timeline: readonly Block[],
  turnId: string | undefined,
): BlockOf<'prompt'> | undefined {
  const isIt = (block: Block) =>
    block.type === 'prompt' && block.turnId === turnId && block.delivery === 'queue'
  const found = turnId === undefined ? undefined : timeline.findLast(isIt)
  return found?.type === 'prompt' ? found : undefined
}
