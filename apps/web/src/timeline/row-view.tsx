import { RequestOutcome } from '../request/request-outcome.tsx'
import { SettledQuestion } from '../request/settled-question.tsx'
import { CallRow } from './call-row.tsx'
import type { Node } from './nodes.logic.ts'
import { useOpenBlock } from './open-blocks.ts'
import {
  DraftRow,
  EndRow,
  GroupRow,
  NoticeRow,
  PromptRow,
  TextRow,
  ThinkingRow,
  UnrecognisedRow,
} from './plain-rows.tsx'
import type { Row } from './rows.logic.ts'

export type RowProps = {
  row: Row
  folder: string
  onToggle: (key: string, open: boolean) => void
}

export function RowView({ row, folder, onToggle }: RowProps) {
  if ('writing' in row) return <WritingView row={row} onToggle={onToggle} />
  const { node, open } = row
  switch (node.type) {
    case 'prompt':
      return <PromptRow block={node.block} />
    case 'text':
      return (
        <TextRow text={node.block.text} done cut={node.block.interrupted === true} seq={node.block.seq} />
      )
    case 'thinking':
      return <ThinkingRow id={node.key} text={node.block.text} done open={open} onToggle={onToggle} />
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
      return <EndRow block={node.block} files={node.files} folder={folder} />
    case 'notice':
      return <NoticeRow block={node.block} />
    case 'unrecognised':
      return <UnrecognisedRow block={node.block} />
  }
}

/** Rows are made anew on every change; what they show is compared instead. */
export function sameRow(one: Row, other: Row): boolean {
  if (one === other) return true
  if (one.key !== other.key || one.open !== other.open || one.depth !== other.depth) return false
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

function WritingView({
  row,
  onToggle,
}: {
  row: Extract<Row, { writing: unknown }>
  onToggle: RowProps['onToggle']
}) {
  const { open } = row
  const writing = useOpenBlock(row.writing.id) ?? row.writing
  if (writing.type === 'tool-call') return <DraftRow block={writing} />
  if (writing.type === 'text') return <TextRow text={writing.text} done={false} cut={false} />
  return <ThinkingRow id={writing.id} text={writing.text} done={false} open={open} onToggle={onToggle} />
}
