import { stripVTControlCharacters } from 'node:util'
import type { Diff, ToolContent } from '@parley/protocol'
import { diffLines } from '../../transcripts/documents/diff-lines.ts'
import type { ToolRow } from './rows.ts'
import type { Style } from './style.ts'
import { visible } from './visible.ts'

/** This file formats the lines under the row of an ended tool call: a short part of its output. Pure. */

const maxOutput = 10
const maxOfFailure = 30
const maxOfChange = 20

export type EndedCall = Pick<ToolRow, 'kind' | 'status' | 'depth'> & {
  readonly content: readonly ToolContent[]
  /** True if the diff was already shown with the permission request. */
  readonly isChangeKnown?: boolean
}

export function toolOutputLines(call: EndedCall, style: Style): string[] {
  const { content, depth, status } = call
  const change = content.find((part) => part.type === 'diff')
  const isShown = status === 'failed' || (status === 'completed' && change === undefined)
  const lines = [
    ...(change && status === 'completed' && !call.isChangeKnown ? cutChange(change, style) : []),
    ...(isShown ? cutOutput(call).map((line) => style.dim(line)) : []),
  ]
  return lines.map((line) => `${'  '.repeat(depth + 2)}${line}`)
}

export function changeLines(change: Diff, style: Style): string[] {
  const signs = { '+': style.green, '-': style.red, '@': style.cyan, ' ': style.dim }
  return diffLines(change).map(({ sign, text }) =>
    signs[sign](`${sign === '@' ? '' : sign}${visible(text.replace(/\r$/, ''))}`),
  )
}

function cutChange(change: Diff, style: Style): string[] {
  const lines = changeLines(change, style)
  if (lines.length <= maxOfChange) return lines
  const rest = style.dim(`… ${lines.length - maxOfChange + 1} more lines`)
  return [...lines.slice(0, maxOfChange - 1), rest]
}

/**
 * The end of the output, where a program usually reports its result. Text that a tool has read is meant for the
 * agent, so it is shown only if the tool failed.
 */
function cutOutput({ content, kind, status }: EndedCall): string[] {
  const isFailure = status === 'failed'
  const texts = content.map((part) => {
    if (part.type === 'terminal') return part.output
    return part.type === 'text' && (isFailure || kind === 'execute') ? part.text : ''
  })
  const lines = texts.join('\n').split('\n').map(lastDrawn).join('\n').trim().split('\n')
  const filled = lines.filter((line) => line.trim() !== '')
  const max = isFailure ? maxOfFailure : maxOutput
  if (filled.length <= max) return filled.map(visible)
  return [`… ${filled.length - max} lines before`, ...filled.slice(-max).map(visible)]
}

/** A line in its final form: without colours, and with carriage returns applied. */
function lastDrawn(line: string): string {
  return stripVTControlCharacters(line).replace(/\r+$/, '').split('\r').at(-1) ?? ''
}
