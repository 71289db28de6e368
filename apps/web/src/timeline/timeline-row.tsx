import type { BlockOf, OpenBlock, OpenToolCall } from '@parley/protocol'
import { memo } from 'react'
import { commandRun } from '../call/call-text.logic.ts'
import { RequestOutcome, SettledQuestion } from '../call/request-outcome.tsx'
import { CallRow } from './call-row.tsx'
import { EndRow } from './end-row.tsx'
import { LazyUnrecognisedRow } from './lazy-rare-rows.tsx'
import { LazyCollapsedTurn } from './lazy-turn-line.tsx'
import type { Node } from './nodes.logic.ts'
import { useOpenBlock } from './open-blocks.ts'
import { DraftRow, GroupRow, NoticeRow, TextRow, ThinkingRow } from './plain-rows.tsx'
import { PromptRow } from './prompt-row.tsx'
import type { Row } from './rows.logic.ts'
import type { Turn } from './turn.logic.ts'
import { TurnHead } from './turn-head.tsx'

type Props = RowProps & {
  measure: (element: HTMLDivElement | null) => void
  index: number
  setSize: number
  marked: boolean
}

/** A row of the list. The list positions it; it renders again only when its content changes. */
export const TimelineRow = memo(function TimelineRow({ row, index, setSize, marked, ...rest }: Props) {
  const { measure, folder, onToggle } = rest
  return (
    <article
      ref={measure}
      data-index={index}
      data-key={row.key}
      aria-label={nameOf(row)}
      aria-posinset={index + 1}
      aria-setsize={setSize}
      tabIndex={-1}
      className={`absolute inset-x-0 top-0 px-4 outline-none max-md:px-3 ${marked ? 'bg-mark-wash/70' : ''}`}
    >
      <div className={`${spacing(row)} ${indents[Math.min(row.depth, indents.length - 1)]}`}>
        <RowView row={row} folder={folder} onToggle={onToggle} />
      </div>
    </article>
  )
}, sameProps)

function sameProps({ row, ...one }: Props, { row: otherRow, ...other }: Props): boolean {
  const keys = Object.keys(one) as (keyof typeof one)[]
  return sameRow(row, otherRow) && keys.every((key) => one[key] === other[key])
}

const indents = [
  '',
  'ml-3 border-l border-line pl-2',
  'ml-[33px] border-l border-line pl-2',
  'ml-[54px] border-l border-line pl-2',
]

function spacing(row: Row): string {
  if ('writing' in row) return row.writing.type === 'text' ? 'py-1.5' : ''
  if ('collapsed' in row) return 'py-px'
  if (row.node.type === 'prompt') return 'pt-3 pb-2'
  return row.node.type === 'text' ? 'py-1.5' : ''
}

const names: Record<string, string> = {
  prompt: 'You',
  text: 'Agent',
  thinking: 'Thought',
  call: 'Step',
  group: 'Steps',
  request: 'Request',
  end: 'End of the turn',
  notice: 'Notice',
  unrecognised: 'Unknown message',
}

function nameOf(row: Row): string {
  if ('writing' in row) return 'Being written'
  if ('collapsed' in row) return 'Collapsed turn'
  if (row.node.type === 'call')
    return `Step: ${(commandRun(row.node.request) ?? row.node.block.title).slice(0, 80)}`
  return names[row.node.type] ?? 'Row'
}

type RowProps = { row: Row; folder: string; onToggle: (key: string, open: boolean) => void }

function RowView({ row, folder, onToggle }: RowProps) {
  if ('collapsed' in row)
    return <LazyCollapsedTurn turn={row.collapsed} folder={folder} onToggle={onToggle} />
  const { turn } = row
  const view = <ExpandedRow row={row} folder={folder} onToggle={onToggle} />
  if (!turn?.head || turn.isTakenBack || !('node' in row) || row.node.key !== turn.head.id) return view
  return (
    <TurnHead turn={turn} onToggle={onToggle}>
      {view}
    </TurnHead>
  )
}

type ExpandedRowProps = RowProps & { row: Exclude<Row, { readonly collapsed: Turn }> }

function ExpandedRow({ row, folder, onToggle }: ExpandedRowProps) {
  if ('writing' in row) {
    const { writing } = row
    return writing.type === 'tool-call' ? (
      <DraftView writing={writing} />
    ) : (
      <TextView row={row} block={writing} onToggle={onToggle} />
    )
  }
  const { node, open } = row
  switch (node.type) {
    case 'prompt':
      return <PromptRow block={node.block} />
    case 'text':
    case 'thinking':
      return <TextView row={row} block={node.block} onToggle={onToggle} />
    case 'call':
      if (node.request?.type === 'question') return <SettledQuestion block={node.request} />
      return <CallRow node={node} open={open} folder={folder} onToggle={onToggle} />
    case 'group':
      return <GroupRow node={node} open={open} onToggle={onToggle} />
    case 'request':
      return node.block.type === 'question' ? (
        <SettledQuestion block={node.block} />
      ) : (
        <div>
          <p className="px-1.5 text-sm text-soft">{node.block.request.title}</p>
          <RequestOutcome block={node.block} />
        </div>
      )
    case 'end':
      return <EndRow block={node.block} files={node.files} waited={node.waited} folder={folder} />
    case 'notice':
      return <NoticeRow block={node.block} />
    case 'unrecognised':
      return <LazyUnrecognisedRow block={node.block} />
  }
}

/** True if two rows have the same content. Row objects are created anew on every change. */
function sameRow(one: Row, other: Row): boolean {
  if (one === other) return true
  if (one.key !== other.key || one.open !== other.open || one.depth !== other.depth) return false
  if (one.turn?.end !== other.turn?.end) return false
  if ('collapsed' in one) return 'collapsed' in other && one.collapsed === other.collapsed
  if ('writing' in one) return 'writing' in other && one.writing.type === other.writing.type
  return 'node' in other && sameNode(one.node, other.node)
}

function sameNode(one: Node, other: Node): boolean {
  if (one === other) return true
  if (one.type !== other.type || one.key !== other.key) return false
  if (one.type === 'group') return other.type === 'group' && one.nodes.length === other.nodes.length
  if (other.type === 'group' || one.block !== other.block) return false
  if (one.type !== 'call' || other.type !== 'call') return one.type !== 'end'
  return one.request === other.request && one.children.length === other.children.length
}

type TextBlock = BlockOf<'text' | 'thinking'> | Exclude<OpenBlock, OpenToolCall>

/**
 * The same component renders a block while it is open and after it has ended, so that nothing is mounted
 * again at its end.
 */
function TextView({ row, block, onToggle }: Omit<RowProps, 'folder'> & { block: TextBlock }) {
  const done = 'node' in row
  const written = useOpenBlock(done ? undefined : block.id)
  const { text } = written?.type === block.type ? written : block
  if (block.type === 'thinking')
    return <ThinkingRow id={block.id} text={text} done={done} open={row.open} onToggle={onToggle} />
  const cut = 'interrupted' in block && block.interrupted === true
  return <TextRow text={text} done={done} cut={cut} {...('seq' in block && { seq: block.seq })} />
}

function DraftView({ writing }: { writing: OpenBlock }) {
  const block = useOpenBlock(writing.id) ?? writing
  return block.type === 'tool-call' ? <DraftRow block={block} /> : null
}
