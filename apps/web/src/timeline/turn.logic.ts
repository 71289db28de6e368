import type { Block, BlockOf } from '@parley/protocol'

/** A turn, with everything that its line shows. */
export type Turn = {
  /** The key under which the choice to collapse the turn is stored. */
  readonly key: string
  readonly turnId: string
  /** The prompt, or the notice of a turn that the agent started by itself. Undefined until it is loaded. */
  readonly head: BlockOf<'prompt'> | BlockOf<'notice'> | undefined
  /** Undefined while the turn runs. */
  readonly end: BlockOf<'turn-end'> | undefined
  /** The files that calls report as changed. Undefined if the beginning of the turn is not loaded. */
  readonly files: readonly string[] | undefined
  /** The time in milliseconds that the turn waited for people. */
  readonly waited: number
  /** A rewind took the turn back: one group holds all its rows. */
  readonly isTakenBack: boolean
}

type Part = { readonly turnId: string | undefined; readonly blocks: readonly Block[] }
type End = Pick<Turn, 'waited'> & { readonly block: BlockOf<'turn-end'>; readonly files: readonly string[] }

/** `takenBack`: the key of the group that holds the rows of a turn that was taken back. */
export function turnOf(
  { turnId, blocks }: Part,
  last: End | undefined,
  takenBack?: string,
): Turn | undefined {
  if (turnId === undefined) return undefined
  const head = blocks.find((block) => isHead(block, turnId))
  return {
    key: takenBack ?? `turn:${turnId}`,
    turnId,
    head: head as Turn['head'],
    end: last?.block,
    files: head && (last?.files ?? filesChanged(blocks)),
    waited: last?.waited ?? 0,
    isTakenBack: takenBack !== undefined,
  }
}

function isHead(block: Block, turnId: string): boolean {
  if (block.turnId !== turnId) return false
  if (block.type === 'prompt') return block.delivery === 'queue'
  return block.type === 'notice' && block.code === 'agent_turn'
}

/** The number of turns at the end that stay expanded when old turns are collapsed. */
const keptOpen = 2

/** The `seq` before which turns are old. */
export function oldBefore(segments: readonly (Pick<Part, 'blocks'> & { turn: Turn | undefined })[]): number {
  const turns = segments.filter(({ turn }) => turn && !turn.isTakenBack)
  return turns.at(-keptOpen)?.blocks[0]?.seq ?? 0
}

/** The files that completed calls report as changed, in order, each once. */
export function filesChanged(blocks: readonly Block[]): readonly string[] {
  const files = new Set<string>()
  for (const block of blocks) {
    if (block.type !== 'tool-call' || block.status !== 'completed') continue
    for (const content of block.content) if (content.type === 'diff') files.add(content.path)
    if (block.kind !== 'edit' && block.kind !== 'delete' && block.kind !== 'move') continue
    for (const { path } of block.locations ?? []) files.add(path)
  }
  return [...files]
}
