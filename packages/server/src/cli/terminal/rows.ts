import {
  type Actor,
  type Diff,
  type EventOf,
  type PermissionResolution,
  type PlanEntry,
  promptText,
  type Question,
  type QuestionResolution,
  type ToolContent,
  type ToolKind,
  type TurnEnd,
} from '@parley/protocol'
import { changeText, resolverText } from '../../transcripts/documents/block-text.ts'
import { diffLines } from '../../transcripts/documents/diff-lines.ts'
import { durationText } from '../durations.ts'
import type { Style } from './style.ts'
import { oneLine, visible } from './visible.ts'

/**
 * This file formats everything but the agent's text as rows of one line. Pure. A row does not end with a newline.
 */

export type ToolRow = {
  readonly kind: ToolKind
  readonly title: string
  readonly status: 'running' | 'completed' | 'failed' | 'denied' | 'cancelled'
  readonly content?: readonly ToolContent[]
  readonly durationMs?: number
  readonly depth: number
}

export function toolRow(row: ToolRow, style: Style, columns: number): string {
  const indent = '  '.repeat(row.depth)
  const changed = (row.content ?? []).filter((part) => part.type === 'diff').map(lineCounts)
  const facts = [
    ...(row.status === 'running' ? [] : [row.status]),
    ...changed,
    ...(row.durationMs !== undefined && row.durationMs >= 1000 ? [durationText(row.durationMs)] : []),
  ].join(', ')
  const tail = facts ? ` · ${facts}` : ''
  const { kind, title: what } = callLabel(row)
  const room = columns - indent.length - kind.length - tail.length - 5
  const title = oneLine(what, Math.max(12, room))
  return `${indent}${toolMark(row.status, style)} ${style.cyan(kind)}${title}${style.dim(tail)}`
}

/** The verb and the object of a call. The verb appears once, even if the title starts with it. */
export function callLabel({ kind, title }: { kind: ToolKind; title: string }): {
  kind: string
  title: string
} {
  if (kind === 'other') return { kind: '', title }
  const isDoubled = title.toLowerCase().startsWith(`${kind} `)
  return { kind: `${kind} `, title: isDoubled ? title.slice(kind.length + 1) : title }
}

function toolMark(status: ToolRow['status'], style: Style): string {
  if (status === 'running') return style.dim('…')
  if (status === 'completed') return style.green('✓')
  return status === 'cancelled' ? style.yellow('–') : style.red('✗')
}

function lineCounts(change: Diff): string {
  const lines = diffLines(change)
  const count = (sign: string) => lines.filter((line) => line.sign === sign).length
  return `+${count('+')} -${count('-')}`
}

export type TurnEndFacts = {
  readonly style: Style
  /** The time that requests waited for people during the turn, in milliseconds. */
  readonly waited: number
  readonly saysWhy?: boolean
}

export function turnEndRow(end: TurnEnd, { style, waited, saysWhy = true }: TurnEndFacts): string {
  const facts = [
    durationText(Math.max(0, end.durationMs - waited)),
    ...(waited >= 1000 ? [`${durationText(waited)} waiting for you`] : []),
    ...(end.usage ? [`${end.usage.input} tokens in, ${end.usage.output} out`] : []),
    ...(end.costUsd !== undefined
      ? [`$${end.costUsd.toFixed(4)}${end.notionalCost ? ' at list price' : ''}`]
      : []),
  ].join(', ')
  const why = end.error && saysWhy ? `: ${oneLine(end.error.message)}` : ''
  const paint =
    end.outcome === 'completed' ? style.green : end.outcome === 'failed' ? style.red : style.yellow
  const outcome = end.outcome === 'unknown' ? 'outcome unknown' : end.outcome
  return `${paint(`${outcome}${why}`)} ${style.dim(`· ${facts}`)}`
}

export function planRows(entries: readonly PlanEntry[], style: Style): string[] {
  const done = entries.filter((entry) => entry.status === 'completed').length
  const marks = { pending: '[ ]', 'in-progress': '[>]', completed: '[x]', cancelled: '[-]' }
  return [
    style.bold(`plan ${done}/${entries.length}`),
    ...entries.map((entry) => {
      const line = `  ${marks[entry.status]} ${oneLine(entry.text)}`
      return entry.status === 'in-progress' ? line : style.dim(line)
    }),
  ]
}

export function noticeRow(
  notice: { readonly level: 'info' | 'warning' | 'error'; readonly text: string },
  style: Style,
): string {
  const paint = { info: style.dim, warning: style.yellow, error: style.red }[notice.level]
  return paint(`${notice.level}: ${oneLine(notice.text)}`)
}

/** `title` and `input` belong to a permission, `questions` to a question. */
export type AskedFacts = {
  readonly title?: string | undefined
  readonly input?: unknown
  readonly questions?: readonly Question[] | undefined
}

export function resolutionRow(
  event: (PermissionResolution | QuestionResolution) & { readonly actor?: Actor | undefined },
  asked: AskedFacts,
  style: Style,
): string {
  const changes = 'input' in event ? changeText(asked.input, event.input) : undefined
  if (changes !== undefined) {
    const why = `${resolverText(event)}, instead of ${oneLine(asked.title ?? 'what was asked')}`
    return `${style.dim('·')} ${style.green(`${event.outcome} with changes`)}: ${oneLine(changes)} ${style.dim(`(${why})`)}`
  }
  const answers = 'answers' in event ? event.answers : undefined
  const words = (asked.questions ?? []).map(({ id, header }) => {
    const answer = answers && Object.hasOwn(answers, id) ? [answers[id]].flat().join(', ') : undefined
    return answer === undefined ? header : `${header}: ${answer}`
  })
  const what = [asked.title, words.join('; ')].filter(Boolean).map((text) => ` ${oneLine(text ?? '')}`)
  const scope =
    'scope' in event && event.scope && event.scope !== 'once' ? `, for ${scopeText(event.scope)}` : ''
  const message = 'message' in event && event.message ? `: ${oneLine(event.message)}` : ''
  const good = event.outcome === 'allowed' || event.outcome === 'answered'
  const word = good ? style.green(event.outcome) : style.yellow(event.outcome)
  return `${style.dim('·')} ${word}${what.join('')}${style.dim(` (${resolverText(event)}${scope}${message})`)}`
}

function scopeText(scope: 'session' | 'project' | 'always'): string {
  return { session: 'this session', project: 'this project', always: 'always' }[scope]
}

export function promptRow(parts: EventOf<'prompt.submitted'>['parts'], style: Style): string {
  const lines = visible(promptText(parts)).split('\n')
  return lines.map((line, index) => `${index === 0 ? style.bold('›') : ' '} ${style.bold(line)}`).join('\n')
}
