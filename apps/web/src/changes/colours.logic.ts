import type { TokenLines } from '../parts/code/highlight.worker.ts'
import { type DiffLine, type Hunk, lineText } from '../parts/diff/lines.logic.ts'

export type Side = { readonly lines: readonly DiffLine[]; readonly code: string }
type Sides = { readonly after: Side; readonly before: Side }
export type Colours = ReadonlyMap<DiffLine, TokenLines[number]>

/** The two texts of a diff, before and after the change. Each is highlighted by itself. */
export function sidesOf(hunks: readonly Hunk[]): Sides {
  const all = hunks.flatMap(({ lines }) => lines)
  const side = (lines: readonly DiffLine[]) => ({
    lines,
    code: lines.map(({ text }) => lineText(text)).join('\n'),
  })
  const gone = all.some(({ type }) => type === 'removed')
  return {
    after: side(all.filter(({ type }) => type !== 'removed')),
    before: side(gone ? all.filter(({ type }) => type !== 'added') : []),
  }
}

/**
 * The tokens of each line, taken from the tokens of both texts. Either may be missing: a deleted file has no text
 * after the change.
 */
export function coloursOf(
  { after, before }: Sides,
  tokens: { readonly after: TokenLines | undefined; readonly before: TokenLines | undefined },
): Colours | undefined {
  if (!tokens.after && !tokens.before) return undefined
  const gone = coloured(before, tokens.before).filter(([{ type }]) => type === 'removed')
  return new Map([...coloured(after, tokens.after), ...gone])
}

function coloured({ lines }: Side, tokens: TokenLines = []): [DiffLine, TokenLines[number]][] {
  return lines.slice(0, tokens.length).map((line, index) => [line, tokens[index] ?? []])
}
