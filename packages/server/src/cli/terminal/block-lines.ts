import { type Block, type BlockOf, promptText } from '@parley/protocol'
import { noticeRow, promptRow, resolutionRow, toolRow, turnEndRow } from './rows.ts'
import type { Style } from './style.ts'
import { toolOutputLines } from './tool-output.ts'
import { oneLine, visible } from './visible.ts'

export type BlockFacts = { readonly style: Style; readonly columns: number }

/** A block of the timeline as a terminal shows it: the words as they are. Pure. */
export function blockLines(block: Block, facts: BlockFacts): string[] {
  const { style } = facts
  switch (block.type) {
    case 'prompt': {
      const note = block.status === 'sent' ? [] : [style.dim(`  (${block.status})`)]
      return ['', promptText(block.parts) ? promptRow(block.parts, style) : style.bold('›'), ...note]
    }
    case 'text':
      return ['', visible(block.text.trimEnd()), ...(block.interrupted ? [style.dim('(cut off)')] : [])]
    case 'thinking':
      return ['', ...visible(block.text.trimEnd()).split('\n').map(style.dim)]
    case 'tool-call':
      return toolLines(block, facts)
    case 'permission': {
      const { title } = block.request
      return [block.resolution ? resolutionRow(block.resolution, { title }, style) : openRow(title, style)]
    }
    case 'question': {
      const { questions } = block.request
      const asked = questions.map(({ header }) => header).join(', ')
      return [
        block.resolution ? resolutionRow(block.resolution, { questions }, style) : openRow(asked, style),
      ]
    }
    case 'turn-end':
      return [turnEndRow(block.end, style)]
    case 'notice':
      return [noticeRow(block, style)]
    case 'unrecognised':
      return [style.dim('the agent sent a message that Parley does not know; it is kept in the log')]
  }
}

function openRow(title: string, style: Style): string {
  return `${style.yellow('?')} ${oneLine(title)} ${style.dim('(not answered yet)')}`
}

function toolLines(block: BlockOf<'tool-call'>, { style, columns }: BlockFacts): string[] {
  const { kind, name, title, status, content, at, endedAt, parentToolCallId } = block
  const depth = parentToolCallId ? 1 : 0
  const durationMs = endedAt === undefined ? {} : { durationMs: endedAt - at }
  const row = { kind, title: title || name, status, content, depth, ...durationMs }
  return [toolRow(row, style, columns), ...toolOutputLines(row, style)]
}
