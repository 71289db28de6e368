import type { Block } from './block.ts'
import type { EventOf } from './event.ts'

/**
 * Marks the blocks that a rewind takes back: the blocks of every turn since the prompt of the rewind. Waiting prompts
 * are not marked.
 */
export function takeBack(blocks: Block[], { seq, from, talk }: EventOf<'session.rewound'>): void {
  if (!talk) return
  const turns = new Set(
    blocks.filter((block) => block.type === 'turn-end' && block.seq >= from).map(({ turnId }) => turnId),
  )
  for (const [index, block] of blocks.entries()) {
    const isOfTurn = block.turnId !== undefined && turns.has(block.turnId)
    const isSince = isOfTurn || (block.seq >= from && !isWaiting(block))
    if (isSince && block.takenBack === undefined) blocks[index] = { ...block, takenBack: seq }
  }
}

/** Removes the marks and the notice of a rewind that was undone. */
export function giveBack(blocks: Block[], { rewound }: EventOf<'session.unrewound'>): void {
  const notice = blocks.findLastIndex(({ type, seq }) => type === 'notice' && seq === rewound)
  if (notice >= 0) blocks.splice(notice, 1)
  for (const [index, block] of blocks.entries()) {
    if (block.takenBack !== rewound) continue
    const { takenBack, ...kept } = block
    blocks[index] = kept as Block
  }
}

function isWaiting(block: Block): boolean {
  return block.type === 'prompt' && block.turnId === undefined && block.status !== 'withdrawn'
}
