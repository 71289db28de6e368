import type { Diff } from '@parley/protocol'
import { memo, useState } from 'react'
import { CopyButton } from '../page/copy-button.tsx'
import { plural, visible, within } from '../page/words.logic.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { type DiffLine, diffLines, type Hunk, lineWords } from './lines.logic.ts'

const shownAtFirst = 400
const shownAtMost = 5000

/** A diff in one column. Long ones open in two steps; their end is a matter for an editor. */
export const DiffView = memo(function DiffView({ diff, folder }: { diff: Diff; folder: string }) {
  const { hunks, added, removed } = diffLines(diff)
  const [limit, setLimit] = useState(shownAtFirst)
  const total = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  return (
    <figure className="overflow-hidden rounded-md border border-line bg-card">
      <figcaption className="flex min-h-8 items-center gap-2 border-b border-line pr-1 pl-2.5 text-xs">
        <span className="min-w-0 flex-1 truncate font-mono" title={diff.path}>
          {visible(within(diff.path, folder))}
        </span>
        <DiffCount added={added} removed={removed} />
        <CopyButton text={() => diff.path} label="Copy path" className="pointer-fine:size-6!" />
      </figcaption>
      {hunks.length === 0 && <p className="px-3 py-2 text-sm text-soft">Nothing in it changed.</p>}
      <ScrollRegion className="diff" label={`Changes to ${diff.path}`}>
        <table>
          <tbody>
            {cut(hunks, limit).map((hunk, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no identity but their place
              <HunkRows key={index} hunk={hunk} first={index === 0} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {total > limit && (
        <button
          type="button"
          className="w-full border-t border-line px-3 py-1.5 text-left text-xs font-medium text-mark hover:bg-hover pointer-coarse:min-h-11 disabled:text-faint"
          disabled={limit >= shownAtMost}
          onClick={() => setLimit(shownAtMost)}
        >
          {plural(total - limit, 'more line')}
          {limit >= shownAtMost && ': open the file in an editor'}
        </button>
      )}
    </figure>
  )
})

export function DiffCount({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="shrink-0 font-mono text-xs tabular-nums">
      {added > 0 && <span className="text-good">+{added}</span>}
      {added > 0 && removed > 0 && ' '}
      {removed > 0 && <span className="text-bad">−{removed}</span>}
    </span>
  )
}

function cut(hunks: readonly Hunk[], limit: number): Hunk[] {
  let left = limit
  return hunks.flatMap((hunk) => {
    if (left <= 0) return []
    const lines = hunk.lines.slice(0, left)
    left -= lines.length
    return [{ ...hunk, lines }]
  })
}

function HunkRows({ hunk, first }: { hunk: Hunk; first: boolean }) {
  return (
    <>
      {!first && (
        <tr className="gap">
          <td colSpan={3}>⋯</td>
        </tr>
      )}
      {hunk.lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
        <LineRow key={index} line={line} />
      ))}
    </>
  )
}

const signs = { added: '+', removed: '−', same: ' ' }

function LineRow({ line }: { line: DiffLine }) {
  return (
    <tr className={line.type}>
      <td className="number">{line.after ?? line.before}</td>
      <td className="sign">{signs[line.type]}</td>
      <td className="words">{lineWords(line.text)}</td>
    </tr>
  )
}
