import { memo } from 'react'
import { commandRun } from '../call/call-text.logic.ts'
import { type RowProps, RowView, sameRow } from './row-view.tsx'
import type { Row } from './rows.logic.ts'

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
  if (row.node.type === 'call')
    return `Step: ${(commandRun(row.node.request) ?? row.node.block.title).slice(0, 80)}`
  return names[row.node.type] ?? 'Row'
}
