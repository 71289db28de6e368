import type { Diff } from '@parley/protocol'
import { memo, useState } from 'react'
import { plural, relativePath, visible } from '../../base/format.logic.ts'
import { CopyButton } from '../copy-button.tsx'
import { FileLink } from '../file-link.tsx'
import { ScrollRegion } from '../scroll-region.tsx'
import { DiffCount } from './diff-count.tsx'
import {
  type DiffLine,
  diffFiles,
  diffLines,
  type FileDiff,
  fileNote,
  firstLines,
  type Hunk,
  lineSigns,
  lineText,
} from './lines.logic.ts'

const shownAtFirst = 400
const shownAtMost = 5000

/** A diff in one column, file by file. */
const FileFigures = memo(function FileFigures({ diff, folder }: { diff: Diff; folder: string }) {
  const files = diffFiles(diff)
  const figures = files.map((file, index) => (
    <FileFigure
      // biome-ignore lint/suspicious/noArrayIndexKey: a file may be named twice
      key={index}
      file={file}
      note={fileNote(diff, file)}
      folder={folder}
      // Without a patch, the line numbers are not those of the file.
      line={diff.patch === undefined ? undefined : firstChanged(file.hunks)}
    />
  ))
  return files.length === 1 ? figures : <div className="flex flex-col gap-2">{figures}</div>
})

type FigureProps = {
  file: FileDiff
  note: string | undefined
  folder: string
  line: number | undefined
}

/** One file of a diff. A long file is expanded in two steps and cut at the limit of the second step. */
function FileFigure({ file, note, folder, line }: FigureProps) {
  const { path, from, binary, hunks, added, removed } = file
  const [limit, setLimit] = useState(shownAtFirst)
  const total = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  return (
    <figure className="overflow-hidden rounded-md border border-line bg-card">
      <figcaption className="flex min-h-8 items-center gap-2 border-b border-line pr-1 pl-2.5 text-xs">
        <span className="min-w-0 flex-1 truncate" title={path}>
          {from !== undefined && <span className="text-faint">{visible(relativePath(from, folder))} → </span>}
          {file.status === 'deleted' ? (
            visible(relativePath(path, folder))
          ) : (
            <FileLink to={{ path, ...(line !== undefined && { line }) }}>
              {visible(relativePath(path, folder))}
            </FileLink>
          )}
        </span>
        {note !== undefined && <span className="shrink-0 text-faint">{note}</span>}
        <DiffCount added={added} removed={removed} />
        <CopyButton text={() => path} label="Copy path" className="pointer-fine:size-6!" />
      </figcaption>
      {hunks.length === 0 && (
        <p className="px-3 py-2 text-sm text-soft">
          {binary ? 'A binary file: its changes cannot be shown.' : 'No changes in this file.'}
        </p>
      )}
      <ScrollRegion className="diff" label={`Changes to ${path}`}>
        <table>
          <tbody>
            {firstLines(hunks, limit).map((hunk, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: hunks are identified by their index
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
}

/** The first line of the new file that was changed. */
function firstChanged(hunks: readonly Hunk[]): number | undefined {
  for (const { lines } of hunks)
    for (const { type, after } of lines) if (type === 'added' && after !== undefined) return after
  return undefined
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
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by their index
        <LineRow key={index} line={line} />
      ))}
    </>
  )
}

function LineRow({ line }: { line: DiffLine }) {
  return (
    <tr className={line.type}>
      <td className="number">{line.after ?? line.before}</td>
      <td className="sign">{lineSigns[line.type]}</td>
      <td className="words">
        {lineText(line.text)}
        {line.noNewline && <span className="text-faint select-none"> (no line break at the end)</span>}
      </td>
    </tr>
  )
}

export default { FileFigures, diffLines }
