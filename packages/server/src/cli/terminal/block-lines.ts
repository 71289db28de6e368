import { type Block, type BlockOf, inReadingOrder, promptText } from '@parley/protocol'
import { type BlockFacts, factsOf, promptNote } from '../../transcripts/documents/block-text.ts'
import { noticeRow, promptRow, resolutionRow, toolRow, turnEndRow } from './rows.ts'
import type { Style } from './style.ts'
import { toolOutputLines } from './tool-output.ts'
import { oneLine, visible } from './visible.ts'

export type LineFacts = { readonly style: Style; readonly columns: number }

/** A timeline as lines for a terminal, in reading order. Pure. */
export function timelineLines(timeline: readonly Block[], { style, columns }: LineFacts): string[] {
  const facts = { style, columns, ...factsOf(timeline) }
  return inReadingOrder(timeline).flatMap((block) => blockLines(block, facts))
}

function blockLines(block: Block, facts: LineFacts & BlockFacts): string[] {
  const { style, waits } = facts
  switch (block.type) {
    case 'prompt': {
      const note = promptNote(block)
      const row = promptText(block.parts) ? promptRow(block.parts, style) : style.bold('›')
      return ['', row, ...(note ? [style.dim(`  (${note})`)] : [])]
    }
    case 'text':
      return ['', visible(block.text.trimEnd()), ...(block.interrupted ? [style.dim('(cut off)')] : [])]
    case 'thinking':
      return ['', ...visible(block.text.trimEnd()).split('\n').map(style.dim)]
    case 'tool-call':
      return toolLines(block, facts)
    case 'permission': {
      const { title, input } = block.request
      return [
        block.resolution
          ? resolutionRow({ ...block.resolution, actor: block.resolvedBy }, { title, input }, style)
          : openRow(title, style),
      ]
    }
    case 'question': {
      const { questions } = block.request
      const asked = questions.map(({ header }) => header).join(', ')
      return [
        block.resolution
          ? resolutionRow({ ...block.resolution, actor: block.resolvedBy }, { questions }, style)
          : openRow(asked, style),
      ]
    }
    case 'turn-end':
      return [turnEndRow(block.end, { style, waited: waits.get(block) ?? 0 })]
    case 'notice':
      return [noticeRow(block, style)]
    case 'unrecognised':
      return [style.dim('the agent sent an unrecognised message; it is kept in the log')]
  }
}

function openRow(title: string, style: Style): string {
  return `${style.yellow('?')} ${oneLine(title)} ${style.dim('(not answered yet)')}`
}

function toolLines(block: BlockOf<'tool-call'>, facts: LineFacts & BlockFacts): string[] {
  const { style, columns, waits, commands } = facts
  const { kind, name, title, status, content, at, endedAt, parentToolCallId } = block
  const depth = parentToolCallId ? 1 : 0
  const durationMs = endedAt === undefined ? {} : { durationMs: endedAt - at - (waits.get(block) ?? 0) }
  const row = {
    kind,
    title: commands.get(block.id) ?? (title || name),
    status,
    content,
    depth,
    ...durationMs,
  }
  return [toolRow(row, style, columns), ...toolOutputLines(row, style)]
}
