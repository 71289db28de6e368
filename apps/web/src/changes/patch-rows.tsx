import { MessageSquarePlus } from 'lucide-react'
import { Fragment } from 'react'
import { may } from '../base/self.ts'
import { tokenSpans } from '../parts/code/code-block.tsx'
import { type DiffLine, type Hunk, lineSigns, lineText } from '../parts/diff/lines.logic.ts'
import { type RemarkEditor, remarkRow } from '../remarks/remark-form.tsx'
import type { Colours } from './colours.logic.ts'
import { usePatchReader } from './patch-reader.ts'
import { pairsOf } from './split.logic.ts'
import { isChosen, type LineChoice, placeName } from './use-line-choice.ts'
import { piecesOf, type Words } from './words.logic.ts'

type RowsProps = {
  hunk: Hunk
  /** The index of the hunk. */
  at: number
  path: string
  split: boolean
  colours: Colours | undefined
  words: Words | undefined
  choice: LineChoice | undefined
  onChoose: (at: { hunk: number; line: number }) => void
} & RemarkEditor

/** The first changed line of a hunk. The keys `]` and `[` move the focus to it. */
const firstChange = ({ lines }: Hunk) => lines.findIndex(({ type }) => type !== 'same')

export function StackedRows({ hunk, ...rest }: RowsProps) {
  const first = firstChange(hunk)
  return hunk.lines.map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by their index
    <Fragment key={index}>
      <tr
        tabIndex={-1}
        data-at={placeName(rest.at, index)}
        data-hunk={index === first ? rest.at : undefined}
        className={`group/line scroll-my-20 ${line.type}`}
      >
        <LineNumber line={line} index={index} {...rest} />
        <td className="sign">{lineSigns[line.type]}</td>
        <td className="words">{lineContent(line, rest)}</td>
      </tr>
      {remarkRow(line, rest)}
    </Fragment>
  ))
}

export function SplitRows({ hunk, ...rest }: RowsProps) {
  const indexes = new Map(hunk.lines.map((line, index) => [line, index]))
  const first = hunk.lines[firstChange(hunk)]
  return pairsOf(hunk.lines).map(({ before, after }, index) => {
    const [one, other] = [before && indexes.get(before), after && indexes.get(after)]
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by their index
      <Fragment key={index}>
        <tr
          tabIndex={-1}
          data-at={placeName(rest.at, other ?? one ?? 0)}
          data-hunk={first && (before === first || after === first) ? rest.at : undefined}
          className="group/line scroll-my-20"
        >
          <HalfLine line={before} index={one} side="before" {...rest} />
          <HalfLine line={after} index={other} side="after" {...rest} />
        </tr>
        {before?.type === 'removed' && remarkRow(before, rest)}
        {after && remarkRow(after, rest)}
      </Fragment>
    )
  })
}

type LineProps = Pick<RowsProps, 'at' | 'path' | 'colours' | 'words' | 'choice' | 'onChoose'>

type HalfLineProps = LineProps & {
  line: DiffLine | undefined
  index: number | undefined
  side: 'before' | 'after'
}

function HalfLine({ line, index, side, ...rest }: HalfLineProps) {
  if (!line || index === undefined) return <td colSpan={3} className="bg-sunk" />
  const look = line.type === 'same' ? '' : line.type
  const number = side === 'before' ? line.before : line.after
  const shown = side === 'before' && line.type === 'same'
  return (
    <>
      {shown ? (
        <td className={`number ${look}`}>{number}</td>
      ) : (
        <LineNumber line={line} index={index} look={look} {...rest} />
      )}
      <td className={`sign ${look}`}>{line.type === 'same' ? '' : lineSigns[line.type]}</td>
      <td className={`words whitespace-pre-wrap! [overflow-wrap:anywhere] ${look}`}>
        {lineContent(line, rest)}
      </td>
    </>
  )
}

function lineContent(line: DiffLine, { colours, words }: Pick<LineProps, 'colours' | 'words'>) {
  const tokens = colours?.get(line)
  const changed = words?.get(line)
  if (!changed || changed.length === 0) return tokens ? tokenSpans(tokens) : lineText(line.text)
  return piecesOf(tokens ?? [[lineText(line.text), '']], changed).map(([content, kind, isChanged], place) => {
    const look = kind === '' || kind === 'foreground' ? '' : `tok-${kind}`
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their index
      <span key={place} className={isChanged ? `word ${look}` : look}>
        {content}
      </span>
    )
  })
}

type LineNumberProps = Pick<LineProps, 'at' | 'path' | 'choice' | 'onChoose'> & {
  line: DiffLine
  index: number
  look?: string
}

function LineNumber({ line, index, at, path, choice, onChoose, look = '' }: LineNumberProps) {
  const number = line.after ?? line.before
  const chosen = isChosen(choice, at, index) ? 'bg-mark-wash text-mark!' : ''
  const hasRemarks = usePatchReader() === undefined && may('prompt')
  return (
    <td data-at={placeName(at, index)} className={`number relative ${look} ${chosen}`}>
      {number}
      {hasRemarks && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={`Remark on line ${number} of ${path}`}
          onClick={() => onChoose({ hunk: at, line: index })}
          className="absolute inset-0 flex items-center justify-center bg-mark-fill text-white opacity-0 group-hover/line:opacity-100 focus-visible:opacity-100 pointer-coarse:group-hover/line:opacity-0"
        >
          <MessageSquarePlus size={13} />
        </button>
      )}
    </td>
  )
}
