import type { BlockOf, OpenBlock } from '@parley/protocol'
import { Info, Layers, Undo2 } from 'lucide-react'
import { memo } from 'react'
import { plural, visible } from '../base/format.logic.ts'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { Callout } from './callout.tsx'
import { LazyCompaction, LazyHandedOver, LazyUndoRewind } from './lazy-rare-rows.tsx'
import type { GroupNode } from './nodes.logic.ts'
import { RowActions } from './row-actions.tsx'
import { RowButton } from './row-button.tsx'
import { groupSummary } from './rows.logic.ts'

type Toggle = (key: string, open: boolean) => void

type TextRowProps = { text: string; done: boolean; cut: boolean; seq?: number }

export const TextRow = memo(function TextRow({ text, done, cut, seq }: TextRowProps) {
  return (
    <div className="group/row relative px-1.5">
      <LazyMarkdown text={text} done={done} />
      {cut && <p className="pt-1 text-xs text-faint">Interrupted</p>}
      {/* On a touch device, the actions appear with the first tap: below the text, so that a tapped link does not move. */}
      {seq !== undefined && <RowActions seq={seq} text={text} className="-top-1 right-0" />}
    </div>
  )
})

type ThinkingRowProps = { id: string; text: string; done: boolean; open: boolean; onToggle: Toggle }

/** The row of a thought: one line until it is expanded. */
export const ThinkingRow = memo(function ThinkingRow({ id, text, done, open, onToggle }: ThinkingRowProps) {
  return (
    <div>
      <RowButton open={open} className="text-faint" onClick={() => onToggle(id, !open)}>
        <span className={`shrink-0 font-medium italic ${done ? '' : 'breathe'}`}>
          {done ? 'Thought' : 'Thinking'}
        </span>
        <span className="min-w-0 flex-1 truncate italic">{!open && peek(text, done)}</span>
      </RowButton>
      {open && (
        <div className="ml-3 border-l border-line pb-1 pl-3.5 text-sm whitespace-pre-wrap text-soft [overflow-wrap:anywhere]">
          {text}
        </div>
      )}
    </div>
  )
})

function peek(text: string, done: boolean): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return ((done ? lines[0] : lines.at(-1)) ?? '').slice(0, 240)
}

type GroupRowProps = { node: GroupNode; open: boolean; onToggle: Toggle }

export const GroupRow = memo(function GroupRow({ node, open, onToggle }: GroupRowProps) {
  if (node.takenBack !== undefined)
    return (
      <RowButton open={open} className="text-faint" onClick={() => onToggle(node.key, !open)}>
        <Undo2 size={14} aria-hidden className="shrink-0" />
        <span className="shrink-0">Taken back</span>
        <span className="min-w-0 truncate">{visible(node.takenBack)}</span>
      </RowButton>
    )
  return (
    <RowButton open={open} className="text-soft" onClick={() => onToggle(node.key, !open)}>
      <Layers size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 truncate">{groupSummary(node)}</span>
      <span className="ml-auto shrink-0 text-xs text-faint">{plural(node.nodes.length, 'step')}</span>
    </RowButton>
  )
})

export const NoticeRow = memo(function NoticeRow({ block }: { block: BlockOf<'notice'> }) {
  if (block.code === 'context_compacted') return <LazyCompaction text={block.text} />
  if (block.leadsTo) return <LazyHandedOver leadsTo={block.leadsTo} />
  if (block.level === 'info') {
    return (
      <div className="flex items-start gap-2 px-1.5 py-0.5 text-sm text-soft">
        <Info size={14} aria-hidden className="mt-1 shrink-0" />
        <span className="[overflow-wrap:anywhere]">{visible(block.text)}</span>
        {block.code === 'session_rewound' && <LazyUndoRewind seq={block.seq} />}
      </div>
    )
  }
  return <Callout level={block.level} text={block.text} />
})

export function DraftRow({ block }: { block: Extract<OpenBlock, { type: 'tool-call' }> }) {
  return (
    <p className="flex min-h-7 items-center gap-2 px-1.5 text-sm text-faint">
      <span className="breathe shrink-0 font-medium">{block.title ?? block.name}</span>
      <span className="min-w-0 truncate font-mono text-xs">{visible(block.input.slice(-120))}</span>
    </p>
  )
}
