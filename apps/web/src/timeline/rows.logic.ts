import { type Block, type OpenBlock, showsEvent } from '@parley/protocol'
import type { CallNode, GroupNode, Node, Segment } from './nodes.logic.ts'
import type { Turn } from './turn.logic.ts'

/** The rows of the list: nodes one below the other, each followed by its children if it is expanded. */
export type Row = {
  readonly key: string
  readonly depth: number
  readonly open: boolean
  /** The estimated height in pixels, until the row is measured. */
  readonly estimate: number
  readonly turn: Turn | undefined
} & (
  | { readonly node: Node }
  | { readonly collapsed: Turn }
  /** The block as it was when it started. Its component subscribes to its later content. */
  | { readonly writing: OpenBlock }
)

export type Opened = {
  /** The nodes that the person expanded or collapsed, by key. */
  readonly by: ReadonlyMap<string, boolean>
  readonly all: boolean
  /** Turns that ended before this `seq` are collapsed. */
  readonly turnsFrom: number
}

function isCollapsed({ key, end, isTakenBack }: Turn, { by, turnsFrom }: Opened): boolean {
  if (!end || isTakenBack) return false
  return !(by.get(key) ?? end.seq >= turnsFrom)
}

export function isOpen(node: Node, opened: Opened): boolean {
  const chosen =
    opened.by.get(node.key) ?? (node.type === 'group' ? opened.by.get(node.keyBefore) : undefined)
  if (chosen !== undefined) return chosen
  if (opened.all) return true
  return opensByDefault(node)
}

/** A failed call is expanded by default, and a subagent's call while it runs. */
function opensByDefault(node: Node): boolean {
  if (node.type !== 'call') return false
  if (node.block.status === 'failed') return true
  return node.block.kind === 'subagent' && node.block.status === 'running'
}

/** The rows of the recorded blocks, and the index at which the rows of each segment start. */
export type RowList = {
  readonly rows: readonly Row[]
  readonly segments: readonly Segment[]
  readonly starts: readonly number[]
  readonly opened: Opened
  /** The last known index of each key, shared by successive lists. An index is valid only if its row has the key. */
  readonly places: Map<string, number>
}

/** Returns the rows of the segments. Rows before the first segment that differs from `before` are reused. */
export function listRows(segments: readonly Segment[], opened: Opened, before?: RowList): RowList {
  const known = before?.opened === opened ? before : undefined
  const reused = known ? commonPrefix(known.segments, segments) : 0
  const rows = known ? known.rows.slice(0, known.starts[reused] ?? known.rows.length) : []
  const starts = known ? known.starts.slice(0, reused) : []
  const places = known?.places ?? new Map<string, number>()
  const isTaken = (key: string) => rows[places.get(key) ?? -1]?.key === key
  const keyFor = (wanted: string) => {
    const key = isTaken(wanted) ? `${wanted}:${rows.length}` : wanted
    places.set(key, rows.length)
    return key
  }
  const add = (node: Node, depth: number, turn: Turn | undefined): void => {
    const open = isOpen(node, opened)
    rows.push({ key: keyFor(node.key), depth, open, estimate: estimatedHeight(node, open), turn, node })
    if (!open) return
    for (const inner of innerOf(node)) add(inner, depth + 1, turn)
  }
  for (const { nodes, turn } of segments.slice(reused)) {
    starts.push(rows.length)
    if (turn && isCollapsed(turn, opened)) {
      const key = keyFor(turn.head?.id ?? turn.key)
      rows.push({ key, depth: 0, open: false, estimate: turnHeight, turn, collapsed: turn })
    } else for (const node of nodes) add(node, 0, turn)
  }
  return { rows, segments, starts, opened, places }
}

function commonPrefix(one: readonly Segment[], other: readonly Segment[]): number {
  const index = other.findIndex((segment, at) => segment !== one[at])
  return index < 0 ? other.length : index
}

function estimatedHeight(node: Node, open: boolean): number {
  if (node.type === 'text') return textHeight(node.block.text)
  if (node.type === 'prompt') return 64
  return open ? 140 : lineHeight
}

/** Whether the row is most likely as tall as estimated. */
export function isPlain(row: Row | undefined): boolean {
  if (!row) return false
  if ('writing' in row) return row.writing.type !== 'text' || row.writing.text.length < 60
  if ('collapsed' in row) return true
  return row.node.type === 'call' && !row.open && row.node.block.status !== 'failed' && !row.node.request
}

/** The height of a one-line row, as set by its styles. */
const lineHeight = 28
/** The height of the line of a turn, as set by its styles. */
export const turnHeight = 36

function textHeight(text: string): number {
  return 12 + Math.max(1, Math.ceil(text.length / 90)) * 24
}

function writingEstimate(block: OpenBlock): number {
  return block.type === 'text' ? textHeight(block.text) : lineHeight
}

export function innerOf(node: Node): readonly Node[] {
  if (node.type === 'group') return node.nodes
  return node.type === 'call' ? node.children : []
}

/** The rows of open blocks: texts, thoughts, and calls whose input is not complete. */
export function writingRows(
  openBlocks: readonly OpenBlock[],
  rows: readonly Row[],
  opened: Opened,
): readonly Row[] {
  const shown = openBlocks.filter((block) => !isCalled(block))
  if (shown.length === 0) return noRows
  const recorded = new Set(rows.slice(-50).map((row) => row.key))
  return shown
    .filter((block) => !recorded.has(block.id))
    .filter((block) => block.parentToolCallId === undefined || parentShown(block.parentToolCallId, rows))
    .map((block) => ({
      key: block.id,
      depth: block.parentToolCallId === undefined ? 0 : 1,
      open: opened.by.get(block.id) ?? opened.all,
      estimate: writingEstimate(block),
      turn: rows.at(-1)?.turn,
      writing: block,
    }))
}

const noRows: readonly Row[] = []

function parentShown(id: string, rows: readonly Row[]): boolean {
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    if (row.key === id) return row.open
  }
  return false
}

/** Whether the same blocks are open, whatever their content. */
export function sameBlocksOpen(one: readonly OpenBlock[], other: readonly OpenBlock[]): boolean {
  return (
    one.length === other.length &&
    one.every((block, index) => block.id === other[index]?.id && isCalled(block) === isCalled(other[index]))
  )
}

function isCalled(block: OpenBlock | undefined): boolean {
  return block?.type === 'tool-call' && block.called
}

/** The keys that must be expanded to show a node, outermost first. */
export function pathTo(segments: readonly Segment[], key: string): readonly string[] | undefined {
  for (const { nodes, turn } of segments) {
    const path = pathIn(nodes, key)
    if (path) return turn?.end && !turn.isTakenBack ? [turn.key, ...path] : path
  }
  return undefined
}

function pathIn(nodes: readonly Node[], key: string): readonly string[] | undefined {
  for (const node of nodes) {
    if (node.key === key) return []
    const inner = pathIn(innerOf(node), key)
    if (inner) return [node.key, ...inner]
  }
  return undefined
}

/** The node that shows the text of an event. A request is shown by the node of its call. */
export function nodeOfEvent(
  segments: readonly Segment[],
  seq: number,
): Exclude<Node, { type: 'group' }> | undefined {
  const shows = (block: Block | undefined) => block !== undefined && showsEvent(block, seq)
  const find = (nodes: readonly Node[]): Exclude<Node, { type: 'group' }> | undefined => {
    for (const node of nodes) {
      if (node.type !== 'group' && shows(node.block)) return node
      if (node.type === 'call' && shows(node.request)) return node
      const inner = find(innerOf(node))
      if (inner) return inner
    }
    return undefined
  }
  for (const { nodes } of segments) {
    const found = find(nodes)
    if (found) return found
  }
  return undefined
}

const verbs: Partial<Record<CallNode['block']['kind'] | 'question', (count: number) => string>> = {
  question: (count) => (count === 1 ? 'asked a question' : `asked ${count} questions`),
  read: (count) => (count === 1 ? 'read a file' : `read ${count} files`),
  search: (count) => (count === 1 ? 'searched' : `searched ${count} times`),
  execute: (count) => (count === 1 ? 'ran a command' : `ran ${count} commands`),
  fetch: (count) => (count === 1 ? 'fetched a page' : `fetched ${count} pages`),
  edit: (count) => (count === 1 ? 'edited a file' : `made ${count} edits`),
  delete: (count) => (count === 1 ? 'deleted a file' : `deleted ${count} files`),
  move: (count) => (count === 1 ? 'moved a file' : `moved ${count} files`),
  plan: () => 'planned',
  think: () => 'thought',
  subagent: (count) => (count === 1 ? 'used a subagent' : `used ${count} subagents`),
}

/** A sentence that summarizes a group of steps. */
export function groupSummary({ nodes }: GroupNode): string {
  const counts = new Map<string, number>()
  for (const node of nodes) {
    const asked = node.type === 'call' && node.request?.type === 'question' ? node.request.request : undefined
    const kind = asked ? 'question' : node.type === 'call' ? node.block.kind : 'think'
    counts.set(kind, (counts.get(kind) ?? 0) + (asked?.questions.length ?? 1))
  }
  const thought = counts.get('think') !== undefined
  counts.delete('think')
  const parts = [...counts].map(([kind, count]) => {
    const verb = verbs[kind as keyof typeof verbs]
    return verb ? verb(count) : count === 1 ? 'used a tool' : `used ${count} tools`
  })
  const text = [...(thought && parts.length === 0 ? ['thought'] : []), ...parts].join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
