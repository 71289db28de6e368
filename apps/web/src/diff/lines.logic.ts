import type { Diff } from '@parley/protocol'
import { visible } from '../page/words.logic.ts'
import { compareLines, type Step } from './compare.logic.ts'

export type DiffLine = Step & {
  /** Line numbers, before and after. */
  readonly before?: number
  readonly after?: number
}
/** Lines that stand together; between two hunks are lines that did not change. */
export type Hunk = { readonly lines: readonly DiffLine[] }
export type DiffLines = { readonly hunks: readonly Hunk[]; readonly added: number; readonly removed: number }

const around = 3
const mostChanges = 1200
const known = new WeakMap<object, DiffLines>()

export function diffLines(diff: Diff): DiffLines {
  const before = known.get(diff)
  if (before) return before
  const lines =
    diff.patch !== undefined ? fromPatch(diff.patch) : fromTexts(diff.before ?? '', diff.after ?? '')
  known.set(diff, lines)
  return lines
}

/** Where comparing would take too long: all of the one, then all of the other. */
function fromTexts(before: string, after: string): DiffLines {
  const [old, fresh] = [linesOf(before), linesOf(after)]
  const steps = compareLines(old, fresh, mostChanges) ?? [
    ...old.map((text): Step => ({ type: 'removed', text })),
    ...fresh.map((text): Step => ({ type: 'added', text })),
  ]
  return counted(hunksOf(numbered(steps, 1, 1)))
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function numbered(steps: readonly Step[], firstBefore: number, firstAfter: number): DiffLine[] {
  let before = firstBefore
  let after = firstAfter
  return steps.map((step) => ({
    ...step,
    ...(step.type !== 'added' && { before: before++ }),
    ...(step.type !== 'removed' && { after: after++ }),
  }))
}

/** Changes with a few lines around them; what lies further from any change is left out. */
function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const hunks: DiffLine[][] = []
  let shownTo = -1
  lines.forEach((line, index) => {
    if (line.type === 'same') return
    const from = Math.max(shownTo + 1, index - around)
    if (from > shownTo + 1 || hunks.length === 0) hunks.push([])
    const to = Math.min(lines.length - 1, Math.max(shownTo, index + around))
    for (let at = from; at <= to; at++) hunks.at(-1)!.push(lines[at]!)
    shownTo = Math.max(shownTo, to)
  })
  return hunks.map((shown) => ({ lines: shown }))
}

const longestLine = 4000

/** A line as it can be trusted: what would change the order of its letters, or hide some, is shown. */
export function lineWords(text: string): string {
  const line = visible(text.replace(/\r$/, ''))
  return line.length > longestLine ? `${line.slice(0, longestLine)}…` : line
}

const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** The hunks of a unified diff. Text without any is shown as text. */
function fromPatch(patch: string): DiffLines {
  const hunks: Hunk[] = []
  let start: readonly [number, number] | undefined
  let steps: Step[] = []
  const flush = () => {
    if (start && steps.length > 0) hunks.push({ lines: numbered(steps, start[0], start[1]) })
    steps = []
  }
  for (const line of linesOf(patch)) {
    const found = header.exec(line)
    if (found) {
      flush()
      start = [Number(found[1]), Number(found[2])]
    } else if (start) {
      if (line.startsWith('+')) steps.push({ type: 'added', text: line.slice(1) })
      else if (line.startsWith('-')) steps.push({ type: 'removed', text: line.slice(1) })
      else if (line.startsWith(' ') || line === '') steps.push({ type: 'same', text: line.slice(1) })
    }
  }
  flush()
  if (hunks.length > 0) return counted(hunks)
  return { ...counted([{ lines: linesOf(patch).map((text) => ({ type: 'same', text })) }]) }
}

function counted(hunks: readonly Hunk[]): DiffLines {
  const lines = hunks.flatMap((hunk) => hunk.lines)
  return {
    hunks,
    added: lines.filter((line) => line.type === 'added').length,
    removed: lines.filter((line) => line.type === 'removed').length,
  }
}
