import type { Block } from './block.ts'

/**
 * The timeline in reading order. The timeline holds a prompt where it was submitted; a prompt that was queued while a
 * turn ran belongs above the turn it started and below the whole turn that ran at the time. Pure, and linear in the
 * number of blocks.
 */
export function inReadingOrder(timeline: readonly Block[]): Block[] {
  const { placed, waiting } = placeBlocks(timeline)
  return [...placed.map(({ block }) => block), ...waiting]
}

export type PlacedBlock = {
  readonly block: Block
  /**
   * The index in the timeline from which a reader can start with this block. No block before that index is placed below
   * this block, whatever blocks are added later.
   */
  readonly start?: number
}

/**
 * Places the blocks from index `from` on in reading order. `waiting` contains the prompts that have not started a
 * turn; they are not placed.
 */
export function placeBlocks(
  timeline: readonly Block[],
  from = 0,
): { readonly placed: readonly PlacedBlock[]; readonly waiting: readonly Block[] } {
  const placed: PlacedBlock[] = []
  const waiting: Block[] = []
  const held = new Map<string, Block[]>()
  const { ahead, undecided } = promptsAhead(timeline, from)
  for (let index = from; index < timeline.length; index++) {
    const block = timeline[index]!
    const { turnId } = block
    if (isWaiting(block)) waiting.push(block)
    else if (turnId !== undefined && ahead.has(block)) {
      held.set(turnId, [...(held.get(turnId) ?? []), block])
    } else {
      const isStart = held.size === 0 && index < undecided
      const prompts = turnId === undefined ? undefined : held.get(turnId)
      for (const prompt of prompts ?? []) placed.push({ block: prompt })
      if (turnId !== undefined) held.delete(turnId)
      placed.push(isStart ? { block, start: index } : { block })
    }
  }
  for (const prompts of held.values()) for (const block of prompts) placed.push({ block })
  return { placed, waiting }
}

type Ahead = {
  /** The prompts below which there are blocks of another turn. */
  readonly ahead: ReadonlySet<Block>
  /** The index of the first prompt with no turn below it yet. Later blocks may belong above that prompt. */
  readonly undecided: number
}

/**
 * Finds the queued prompts that are above blocks of another turn. Ignores blocks without a turn, such as a
 * withdrawn prompt.
 */
function promptsAhead(timeline: readonly Block[], from: number): Ahead {
  const ahead = new Set<Block>()
  let undecided = timeline.length
  let turnBelow: string | undefined
  for (let index = timeline.length - 1; index >= from; index--) {
    const block = timeline[index]!
    if (block.turnId === undefined) continue
    if (block.type !== 'prompt' || block.delivery !== 'queue') turnBelow = block.turnId
    else if (turnBelow === undefined) undecided = index
    else if (turnBelow !== block.turnId) ahead.add(block)
  }
  return { ahead, undecided }
}

function isWaiting(block: Block): boolean {
  return block.type === 'prompt' && block.status === 'queued'
}
