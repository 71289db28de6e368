import { diffWordsWithSpace, parsePatch as parseUnified, type StructuredPatch, structuredPatch } from 'diff'
import type { Diff } from './tool-call.ts'

/*
 * Reads and makes unified diffs, for the server and the console. This module has its own entry point,
 * `@parley/protocol/diff`, so that programs that show no diffs do not load it.
 */

export type DiffLine = {
  readonly type: 'same' | 'removed' | 'added'
  readonly text: string
  /** Line numbers, before and after. Absent in text that is not a patch. */
  readonly before?: number
  readonly after?: number
  /** True if the file ends with this line, without a line break. */
  readonly noNewline?: true
}

/** A group of neighbouring lines. The lines between two hunks are unchanged. */
export type DiffHunk = {
  readonly lines: readonly DiffLine[]
}

export type FileDiff = {
  /** The current path of the file, or the last one if the file was deleted. */
  readonly path: string
  /** The previous path, if it differs. */
  readonly from?: string
  readonly status: 'added' | 'modified' | 'deleted' | 'renamed' | 'copied'
  readonly binary: boolean
  readonly hunks: readonly DiffHunk[]
  readonly added: number
  readonly removed: number
}

/**
 * The files of a change. A patch may contain several files; a pair of texts is one file. A patch that cannot be
 * parsed is returned as one file whose lines are the text of the patch.
 */
export function readDiff({ path, movedFrom, before, after, patch }: Diff): readonly FileDiff[] {
  if (patch === undefined) {
    const status = before === null ? 'added' : after === null ? 'deleted' : 'modified'
    return [fileDiff({ path, status, binary: false }, compareTexts(before ?? '', after ?? ''))]
  }
  const files = parsePatch(patch)
  if (files === undefined)
    return [fileDiff({ path, status: 'modified', binary: false }, [{ lines: asText(patch) }])]
  if (files.length === 0) return [fileDiff({ path, status: 'modified', binary: false }, [])]
  if (files.length > 1) return files
  const moved = movedFrom !== undefined && { from: movedFrom, status: 'renamed' as const }
  return files.map((file) => ({ ...file, path, ...moved }))
}

/**
 * The files of a unified diff, as git, diff and agents write it; undefined if the text is not a unified diff.
 */
export function parsePatch(patch: string): readonly FileDiff[] | undefined {
  if (patch.trim() === '') return []
  // Patches that agents write themselves, and patches that were cut, may have wrong line counts. If a patch cannot be
  // parsed, it is parsed again with corrected counts.
  const parsed = tryParse(patch) ?? tryParse(withCounts(patch))
  const files = parsed?.filter(({ hunks, isGit }) => isGit || hunks.some(({ lines }) => lines.length > 0))
  return files?.length ? files.map(fromParsed) : undefined
}

function tryParse(patch: string): StructuredPatch[] | undefined {
  try {
    const files = parseUnified(patch)
    return files.every(({ hunks }) => hunks.every(({ oldStart, newStart }) => oldStart + newStart >= 0))
      ? files
      : undefined
  } catch {
    return undefined
  }
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** The same patch, with line counts that match its hunks. */
function withCounts(patch: string): string {
  const lines = patch.split('\n')
  let hunk: { at: number; old: number; new: number } | undefined
  const done = () => {
    const head = hunk && hunkHead.exec(lines[hunk.at] ?? '')
    if (hunk && head) lines[hunk.at] = `@@ -${head[1]},${hunk.old} +${head[2]},${hunk.new} @@`
    hunk = undefined
  }
  lines.forEach((line, index) => {
    const isFile =
      /^(diff --git|Index:) /.test(line) ||
      (line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ') === true)
    if (hunkHead.test(line) || isFile) done()
    if (hunkHead.test(line)) hunk = { at: index, old: 0, new: 0 }
    else if (hunk && !isFile) {
      if (index === lines.length - 1 && line === '') return
      if (/^( |-|$)/.test(line)) hunk.old++
      if (/^( |\+|$)/.test(line)) hunk.new++
      if (!/^([ +\\-]|$)/.test(line)) done()
    }
  })
  done()
  return lines.join('\n')
}

function fromParsed(file: StructuredPatch): FileDiff {
  const [from, to] = namesOf(file)
  const path = to ?? from ?? ''
  const moved = from !== undefined && from !== path
  return fileDiff(
    {
      path,
      ...(moved && { from }),
      status: statusOf(file, from, to),
      binary: file.isBinary ?? false,
    },
    file.hunks.map((hunk) => ({ lines: numbered(hunk.lines, hunk.oldStart, hunk.newStart) })),
  )
}

/** The file names without the `a/` and `b/` that git puts before them. */
function namesOf({ oldFileName, newFileName, index, isGit }: StructuredPatch) {
  const prefixed =
    isGit === true ||
    (/^(a\/|\/dev\/null$)/.test(oldFileName ?? '') && /^(b\/|\/dev\/null$)/.test(newFileName ?? ''))
  const name = (given: string | undefined, prefix: string) => {
    if (given === undefined || given === '/dev/null') return undefined
    return prefixed && given.startsWith(prefix) ? given.slice(prefix.length) : given
  }
  const [from, to] = [name(oldFileName, 'a/'), name(newFileName, 'b/')]
  return from === undefined && to === undefined ? [index, index] : [from, to]
}

function statusOf(
  file: StructuredPatch,
  from: string | undefined,
  to: string | undefined,
): FileDiff['status'] {
  if (file.isRename) return 'renamed'
  if (file.isCopy) return 'copied'
  if (file.isCreate || (from === undefined && to !== undefined)) return 'added'
  return file.isDelete || (to === undefined && from !== undefined) ? 'deleted' : 'modified'
}

const types = { '+': 'added', '-': 'removed', ' ': 'same' } as const

function numbered(lines: readonly string[], firstBefore: number, firstAfter: number): DiffLine[] {
  let [before, after] = [firstBefore, firstAfter]
  return lines.flatMap((line, index): DiffLine[] => {
    const sign = line === '' ? ' ' : line[0]
    if (sign !== '+' && sign !== '-' && sign !== ' ') return []
    return [
      {
        type: types[sign],
        text: line.slice(1),
        ...(sign !== '+' && { before: before++ }),
        ...(sign !== '-' && { after: after++ }),
        ...(lines[index + 1]?.startsWith('\\') === true && { noNewline: true }),
      },
    ]
  })
}

function fileDiff(
  facts: Pick<FileDiff, 'path' | 'from' | 'status' | 'binary'>,
  hunks: readonly DiffHunk[],
): FileDiff {
  const count = (wanted: DiffLine['type']) =>
    hunks.reduce((sum, { lines }) => sum + lines.filter(({ type }) => type === wanted).length, 0)
  return { ...facts, hunks, added: count('added'), removed: count('removed') }
}

const asText = (text: string) =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line): DiffLine => ({ type: 'same', text: line }))

const around = 3
/** Texts with more changes are not compared line by line: the time grows with the square of this number. */
const maxChanges = 500

/** The changes from one text to the other, with a few lines of context around each. */
export function compareTexts(before: string, after: string): readonly DiffHunk[] {
  const found = structuredPatch('', '', before, after, '', '', {
    context: around,
    maxEditLength: maxChanges,
  })
  if (!found) return singleHunk(before, after)
  return found.hunks.map(({ lines, oldStart, newStart }) => ({ lines: numbered(lines, oldStart, newStart) }))
}

/** One hunk from the first to the last line that differs. */
function singleHunk(before: string, after: string): readonly DiffHunk[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  const shorter = Math.min(old.length, now.length)
  let head = 0
  while (head < shorter && old[head] === now[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const start = Math.max(0, head - around)
  const end = old.length - tail
  const signed = (sign: string, lines: readonly string[]) => lines.map((line) => sign + line)
  const lines = [
    ...signed(' ', old.slice(start, head)),
    ...signed('-', old.slice(head, end)),
    ...signed('+', now.slice(head, now.length - tail)),
    ...signed(' ', old.slice(end, end + around)),
  ]
  return [{ lines: numbered(lines, start + 1, start + 1) }]
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

const signs = { added: '+', removed: '-', same: ' ' } as const

/** Hunks as the text of a patch, without file names. Empty for no hunks. */
export function patchText(hunks: readonly DiffHunk[]): string {
  return hunks
    .flatMap((hunk) => [
      headerOf(hunk),
      ...hunk.lines.flatMap(({ type, text, noNewline }) => [
        signs[type] + text,
        ...(noNewline ? ['\\ No newline at end of file'] : []),
      ]),
    ])
    .join('\n')
}

function headerOf(hunk: DiffHunk): string {
  const { oldStart, oldLines, newStart, newLines } = hunkRange(hunk)
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`
}

/** Longer lines are not compared word by word. */
const maxComparedLength = 500
/** Lines with more different words are not similar. */
const maxDifferentWords = 40
/** The share of the longer line that similar lines have in common. */
const minShare = 0.4

/** Ranges of characters in a line. `to` is exclusive. */
export type LineParts = readonly (readonly [from: number, to: number])[]

/**
 * The words in which two lines differ; undefined if the lines are equal, too long, or not similar enough for the
 * comparison to help.
 */
export function changedWords(
  before: string,
  after: string,
): { readonly before: LineParts; readonly after: LineParts } | undefined {
  const longer = Math.max(before.length, after.length)
  if (before === after || longer > maxComparedLength) return undefined
  const parts = diffWordsWithSpace(before, after, { maxEditLength: maxDifferentWords })
  if (!parts) return undefined
  const found: { before: [number, number][]; after: [number, number][] } = { before: [], after: [] }
  const at = { before: 0, after: 0 }
  let common = 0
  for (const { value, added, removed } of parts) {
    const sides = added
      ? (['after'] as const)
      : removed
        ? (['before'] as const)
        : (['before', 'after'] as const)
    for (const side of sides) {
      if (added || removed) extend(found[side], at[side], at[side] + value.length)
      at[side] += value.length
    }
    if (!added && !removed) common += value.trim().length
  }
  const words = Math.max(before.trim().length, after.trim().length)
  return common >= minShare * words ? found : undefined
}

/** Adds a part, or extends the last part if it ends where this one starts. */
function extend(parts: [number, number][], from: number, to: number): void {
  const last = parts.at(-1)
  if (last?.[1] === from) last[1] = to
  else parts.push([from, to])
}

/** The numbers in the header of a hunk, which name the hunk. A side without lines starts at line 0. */
export function hunkRange({ lines }: DiffHunk): {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
} {
  const numbers = (side: 'before' | 'after') => lines.flatMap((line) => line[side] ?? [])
  const [old, now] = [numbers('before'), numbers('after')]
  return {
    oldStart: old[0] ?? 0,
    oldLines: old.length,
    newStart: now[0] ?? 0,
    newLines: now.length,
  }
}
