import { type Block, type BlockOf, placeBlocks, promptText, waitsOf } from '@parley/protocol'
import { filesChanged, type Turn, turnOf } from './turn.logic.ts'

/**
 * The timeline in reading order: a turn under its prompt, a subagent's blocks under its call, a request beside its
 * call, and quiet steps grouped into one line. Pure; independent of which nodes are expanded.
 */
export type Node =
  | { readonly type: 'prompt'; readonly key: string; readonly block: BlockOf<'prompt'> }
  | { readonly type: 'text'; readonly key: string; readonly block: BlockOf<'text'> }
  | { readonly type: 'thinking'; readonly key: string; readonly block: BlockOf<'thinking'> }
  | CallNode
  | { readonly type: 'request'; readonly key: string; readonly block: RequestBlock }
  | {
      readonly type: 'end'
      readonly key: string
      readonly block: BlockOf<'turn-end'>
      readonly files: readonly string[]
      /** The time in milliseconds that the turn waited for people. */
      readonly waited: number
    }
  | { readonly type: 'notice'; readonly key: string; readonly block: BlockOf<'notice'> }
  | { readonly type: 'unrecognised'; readonly key: string; readonly block: BlockOf<'unrecognised'> }
  | GroupNode

type RequestBlock = BlockOf<'permission'> | BlockOf<'question'>
export type CallNode = {
  readonly type: 'call'
  readonly key: string
  readonly block: BlockOf<'tool-call'>
  readonly request?: RequestBlock
  /** The time in milliseconds that the call waited for people. */
  readonly waited: number
  readonly children: readonly Node[]
}
export type GroupNode = {
  readonly type: 'group'
  readonly key: string
  /** The key that the group had while its turn ran. */
  readonly keyBefore: string
  readonly nodes: readonly Node[]
  /** For the blocks of a turn that a rewind took back: the text of its prompt. */
  readonly takenBack?: string
}

/** One turn, or the blocks between two turns. */
export type Segment = {
  readonly turnId: string | undefined
  readonly blocks: readonly Block[]
  readonly nodes: readonly Node[]
  /** The turn, as its line shows it. Undefined for blocks between two turns. */
  readonly turn: Turn | undefined
  /** The start index in the timeline; undefined if a later block can still change the segments before this one. */
  readonly cut: number | undefined
}

/** The minimum number of consecutive quiet steps that are grouped into one line. */
const minGroupSize = 3
/** The number of steps at the end of a running turn that are not grouped. */
const ungroupedAtEnd = 2

export type Reading = {
  readonly timeline: readonly Block[]
  readonly openTurnId: string | undefined
  readonly segments: readonly Segment[]
}

/** Reads a timeline. Segments before the first difference from `before` are reused. */
export function readTimeline(
  timeline: readonly Block[],
  openTurnId: string | undefined,
  before?: Reading,
): Reading {
  const reused = before ? reusableSegments(before, timeline, openTurnId) : 0
  const known = before?.segments.slice(reused) ?? []
  const from = reused === 0 ? 0 : known[0]!.cut!
  const read = segmentsOf(timeline, openTurnId, { known, from, openBefore: before?.openTurnId })
  return { timeline, openTurnId, segments: [...(before?.segments.slice(0, reused) ?? []), ...read] }
}

/** The number of segments to reuse: those that end before the first changed block and before any open turn. */
function reusableSegments(
  before: Reading,
  timeline: readonly Block[],
  openTurnId: string | undefined,
): number {
  let last = 0
  while (last < timeline.length && timeline[last] === before.timeline[last]) last++
  const isOpen = ({ turnId }: Segment) =>
    turnId !== undefined && (turnId === openTurnId || turnId === before.openTurnId)
  const open = before.segments.findIndex(isOpen)
  const reused = before.segments.findLastIndex(
    ({ cut }, index) => cut !== undefined && cut < last && (open < 0 || index <= open),
  )
  return Math.max(0, reused)
}

type From = {
  readonly known: readonly Segment[]
  readonly from: number
  /** The turn that was open when `known` was read. */
  readonly openBefore?: string | undefined
}

/**
 * The segments of a timeline. A segment in `known` is reused if its blocks have not changed, and if its turn is not
 * open and was not open before: the last steps of an open turn are not grouped.
 */
export function segmentsOf(
  timeline: readonly Block[],
  openTurnId: string | undefined,
  { known, from, openBefore }: From = { known: [], from: 0 },
): readonly Segment[] {
  return splitByTurn(timeline, from).map((part, index) => {
    const before = known[index]
    const open = part.turnId !== undefined && part.turnId === openTurnId
    const wasOpen = part.turnId !== undefined && part.turnId === openBefore
    if (!open && !wasOpen && before && isPart(before, part)) return before
    const nodes = foldQuiet(nodesOf(part.blocks), open)
    if (!isTakenBack(part)) return { ...part, nodes, turn: turnOf(part, nodes.find(isEnd)) }
    const group = takenBackGroup(part, nodes)
    return { ...part, nodes: [group], turn: turnOf(part, nodes.find(isEnd), group.key) }
  })
}

function isEnd(node: Node): node is Extract<Node, { type: 'end' }> {
  return node.type === 'end'
}

function isTakenBack({ blocks }: Part): boolean {
  return blocks.every(({ takenBack }) => takenBack !== undefined)
}

function takenBackGroup({ blocks }: Part, nodes: readonly Node[]): GroupNode {
  const prompt = blocks.find((block) => block.type === 'prompt')
  const key = `taken-back:${blocks[0]!.id}`
  return { type: 'group', key, keyBefore: key, nodes, takenBack: prompt ? promptText(prompt.parts) : '' }
}

function isPart(segment: Segment, part: Part): boolean {
  return segment.turnId === part.turnId && segment.cut === part.cut && sameBlocks(segment.blocks, part.blocks)
}

type Part = { turnId: string | undefined; blocks: Block[]; cut: number | undefined }

function splitByTurn(timeline: readonly Block[], from: number): Part[] {
  const parts: Part[] = []
  const again = repeatedNotices(timeline, from)
  const isBetween = (index: number) => index === 0 || timeline[index - 1]!.type === 'turn-end'
  for (const { block, start } of placeBlocks(timeline, from).placed) {
    if (again.has(block)) continue
    const last = parts.at(-1)
    if (last && continuesPart(last, block)) last.blocks.push(block)
    else {
      const cut = start !== undefined && isBetween(start) && !isDisconnectNotice(block) ? start : undefined
      parts.push({ turnId: block.turnId, blocks: [block], cut })
    }
  }
  return parts
}

/**
 * True if the block belongs to this part. A block without a turn, such as a withdrawn prompt, does not split
 * the running turn.
 */
function continuesPart({ turnId, blocks }: Part, block: Block): boolean {
  if (block.turnId === turnId) return true
  return block.turnId === undefined && blocks.at(-1)!.type !== 'turn-end'
}

/**
 * Notices that repeat the error with which their turn ended: an error of the turn, or the loss of the agent's process.
 * They are not shown.
 */
function repeatedNotices(timeline: readonly Block[], from: number): ReadonlySet<Block> {
  const again = new Set<Block>()
  let end: BlockOf<'turn-end'> | undefined
  for (let index = timeline.length - 1; index >= from; index--) {
    const block = timeline[index]!
    if (block.type === 'turn-end') end = block
    if (block.type !== 'notice' || block.text !== end?.end.error?.message) continue
    if ((block.level === 'error' && block.turnId === end.turnId) || isDisconnectNotice(block))
      again.add(block)
  }
  return again
}

function isDisconnectNotice(block: Block): block is BlockOf<'notice'> {
  return block.type === 'notice' && block.code === 'agent_disconnected'
}

function sameBlocks(one: readonly Block[], other: readonly Block[]): boolean {
  return one.length === other.length && one.every((block, index) => block === other[index])
}

function nodesOf(blocks: readonly Block[]): readonly Node[] {
  const calls = new Map(
    blocks.filter((block) => block.type === 'tool-call').map((block) => [block.id, block]),
  )
  const requests = new Map<string, RequestBlock>()
  const waits = waitsOf(blocks)
  const childrenOf = new Map<string | undefined, Block[]>()
  for (const block of blocks) {
    if (block.type === 'permission' || block.type === 'question') {
      const call = block.request.toolCallId
      if (call !== undefined && calls.has(call)) {
        requests.set(call, block)
        continue
      }
    }
    const parent = parentOf(block)
    const above = parent === undefined ? undefined : calls.get(parent)
    const place = above && above.seq < block.seq ? parent : undefined
    const children = childrenOf.get(place)
    if (children) children.push(block)
    else childrenOf.set(place, [block])
  }
  const files = filesChanged(blocks)
  const build = (block: Block): Node => {
    const waited = waits.get(block) ?? 0
    if (block.type !== 'tool-call') return leafOf(block, files, waited)
    const request = requests.get(block.id)
    const children = (childrenOf.get(block.id) ?? []).map(build)
    return { type: 'call', key: block.id, block, ...(request && { request }), waited, children }
  }
  return (childrenOf.get(undefined) ?? []).map(build)
}

function parentOf(block: Block): string | undefined {
  if ('parentToolCallId' in block) return block.parentToolCallId
  return block.type === 'permission' || block.type === 'question' ? block.request.parentToolCallId : undefined
}

function leafOf(
  block: Exclude<Block, { type: 'tool-call' }>,
  files: readonly string[],
  waited: number,
): Node {
  const key = block.id
  switch (block.type) {
    case 'permission':
    case 'question':
      return { type: 'request', key, block }
    case 'turn-end':
      return { type: 'end', key, block, files, waited }
    default:
      return { type: block.type, key, block } as Node
  }
}

function foldQuiet(nodes: readonly Node[], open: boolean): readonly Node[] {
  const folded: Node[] = []
  let run: Node[] = []
  const flush = (sparing: number) => {
    const inside = run.slice(0, run.length - sparing)
    const outside = run.slice(run.length - sparing)
    if (inside.length >= minGroupSize && inside.some((node) => node.type === 'call')) {
      folded.push(groupOf(inside, open), ...outside)
    } else folded.push(...run)
    run = []
  }
  for (const node of nodes) {
    if (isQuiet(node)) {
      run.push(node)
      continue
    }
    flush(0)
    folded.push(node)
  }
  flush(open ? Math.min(ungroupedAtEnd, run.length) : 0)
  return folded
}

/**
 * Makes a group of nodes. Its key does not change while the group grows: while the turn runs (`open`) it grows at its
 * end, and when older pages load it grows at its start.
 */
function groupOf(nodes: readonly Node[], open: boolean): GroupNode {
  const keyBefore = `group:${nodes[0]!.key}`
  return { type: 'group', key: open ? keyBefore : `group:${nodes.at(-1)!.key}`, keyBefore, nodes }
}

/** True for thoughts and completed calls. A subagent's call is never quiet. */
function isQuiet(node: Node): boolean {
  if (node.type === 'thinking') return true
  if (node.type !== 'call') return false
  return node.block.status === 'completed' && node.block.kind !== 'subagent'
}
