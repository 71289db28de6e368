import type { Block } from './block.ts'

/**
 * The order in which people read a timeline. It holds a prompt where it was submitted; one that was queued meanwhile
 * belongs above the turn it started, below all of the turn that ran. Pure, and linear in the number of blocks.
 */
export function inReadingOrder(timeline: readonly Block[]): Block[] {
  const { placed, waiting } = placeBlocks(timeline)
  return [...placed.map(({ block }) => block), ...waiting]
}

export type PlacedBlock = {
  readonly block: Block
  /**
   * Where in the timeline reading can begin with this block: nothing that stands above it there is placed below,
   * whatever is still to come.
   */
  readonly start?: number
}

/** `waiting` are the prompts that started no turn yet. Only what the timeline holds from `from` on is placed. */
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
  /** The prompts that another turn still works below. */
  readonly ahead: ReadonlySet<Block>
  /** Where the first prompt is that no turn works below yet: it may be ahead of more to come. */
  readonly undecided: number
}

/** What belongs to no turn, as a prompt that was withdrawn, says nothing of which turn works below. */
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
