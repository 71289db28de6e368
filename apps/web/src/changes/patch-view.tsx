import { MessageSquarePlus } from 'lucide-react'
import { Fragment, memo, type RefObject, startTransition, useEffect, useMemo, useRef, useState } from 'react'
import { plural } from '../base/format.logic.ts'
import { may } from '../base/self.ts'
import { tokenSpans } from '../parts/code/code-block.tsx'
import { highlight } from '../parts/code/highlight.ts'
import {
  type DiffLine,
  type DiffLines,
  firstLines,
  type Hunk,
  lineSigns,
  lineText,
} from '../parts/diff/lines.logic.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { type Colours, coloursOf, languageOf, type Side, sidesOf } from './colours.logic.ts'
import { type CommentEditor, CommentForm, commentRow, useCommentEditor } from './comment-form.tsx'
import { type Place, placeOf, samePlace } from './comments.logic.ts'
import { pairsOf } from './split.logic.ts'

const shownAtFirst = 300

type Props = { path: string; lines: DiffLines; split: boolean }

/** The patch of one file, with comments between its lines. */
export const PatchView = memo(function PatchView({ path, lines, split }: Props) {
  const [limit, setLimit] = useState(shownAtFirst)
  const { editing, ...editor } = useCommentEditor(path)
  const total = lines.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  const hunks = useMemo(() => firstLines(lines.hunks, limit), [lines, limit])
  const place = useRef<HTMLDivElement>(null)
  const colours = useColours(path, hunks, place)
  const rows = { path, editing, ...editor, split, colours }
  const isShown = (place: Place) =>
    hunks.some((hunk) => hunk.lines.some((line) => samePlace(placeOf(line, path), place)))
  return (
    <>
      <ScrollRegion ref={place} className="diff @container max-h-none" label={`Changes to ${path}`}>
        <table className={split ? 'w-full table-fixed' : ''}>
          {split && (
            <colgroup>
              <col className="w-11" />
              <col className="w-4" />
              <col />
              <col className="w-11" />
              <col className="w-4" />
              <col />
            </colgroup>
          )}
          <tbody>
            {hunks.map((hunk, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: hunks are identified by their index
              <Fragment key={index}>
                {index > 0 && (
                  <tr className="gap">
                    <td colSpan={6}>⋯</td>
                  </tr>
                )}
                {split ? <SplitRows hunk={hunk} {...rows} /> : <StackedRows hunk={hunk} {...rows} />}
              </Fragment>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {editing && !isShown(editing) && (
        <div className="border-t border-line px-3 py-2">
          <p className="pb-1 text-xs text-soft">
            Comment on line {editing.line}, which is no longer in the changes:
          </p>
          <CommentForm editing={editing} {...editor} />
        </div>
      )}
      {total > limit && (
        <button
          type="button"
          className="w-full border-t border-line px-3 py-1.5 text-left text-xs font-medium text-mark hover:bg-hover pointer-coarse:min-h-11"
          onClick={() => setLimit(limit + 2000)}
        >
          {plural(total - limit, 'more line')}
        </button>
      )}
    </>
  )
})

type RowsProps = {
  hunk: Hunk
  path: string
  split: boolean
  colours: Colours | undefined
} & CommentEditor

function StackedRows({ hunk, ...rest }: RowsProps) {
  return hunk.lines.map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by their index
    <Fragment key={index}>
      <tr className={`group/line ${line.type}`}>
        <LineNumber line={line} path={rest.path} onEdit={rest.onEdit} />
        <td className="sign">{lineSigns[line.type]}</td>
        <td className="words">{lineContent(line, rest.colours)}</td>
      </tr>
      {commentRow(line, rest)}
    </Fragment>
  ))
}

function SplitRows({ hunk, ...rest }: RowsProps) {
  return pairsOf(hunk.lines).map(({ before, after }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by their index
    <Fragment key={index}>
      <tr className="group/line">
        <HalfLine line={before} side="before" {...rest} />
        <HalfLine line={after} side="after" {...rest} />
      </tr>
      {before?.type === 'removed' && commentRow(before, rest)}
      {after && commentRow(after, rest)}
    </Fragment>
  ))
}

type HalfLineProps = {
  line: DiffLine | undefined
  side: 'before' | 'after'
} & Pick<RowsProps, 'path' | 'onEdit' | 'colours'>

function HalfLine({ line, side, path, onEdit, colours }: HalfLineProps) {
  if (!line) return <td colSpan={3} className="bg-sunk" />
  const look = line.type === 'same' ? '' : line.type
  const number = side === 'before' ? line.before : line.after
  const shown = side === 'before' && line.type === 'same'
  return (
    <>
      {shown ? (
        <td className={`number ${look}`}>{number}</td>
      ) : (
        <LineNumber line={line} path={path} onEdit={onEdit} look={look} />
      )}
      <td className={`sign ${look}`}>{line.type === 'same' ? '' : lineSigns[line.type]}</td>
      <td className={`words whitespace-pre-wrap! [overflow-wrap:anywhere] ${look}`}>
        {lineContent(line, colours)}
      </td>
    </>
  )
}

function lineContent(line: DiffLine, colours: Colours | undefined) {
  const tokens = colours?.get(line)
  return tokens ? tokenSpans(tokens) : lineText(line.text)
}

type LineNumberProps = { line: DiffLine; path: string; onEdit: CommentEditor['onEdit']; look?: string }

function LineNumber({ line, path, onEdit, look = '' }: LineNumberProps) {
  const number = line.after ?? line.before
  return (
    <td className={`number relative ${look}`}>
      {number}
      {may('prompt') && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={`Comment on line ${number} of ${path}`}
          onClick={() => onEdit(line)}
          className="absolute inset-0 flex items-center justify-center bg-mark-fill text-white opacity-0 group-hover/line:opacity-100 focus-visible:opacity-100 pointer-coarse:group-hover/line:opacity-0"
        >
          <MessageSquarePlus size={13} />
        </button>
      )}
    </td>
  )
}

/**
 * The time that lines must be in view before they are highlighted, so that scrolling past does not occupy the worker.
 */
const lingerMs = 150

/** The tokens of the lines, computed by the worker once the lines are in view. They do not change the layout. */
function useColours(
  path: string,
  hunks: readonly Hunk[],
  place: RefObject<HTMLElement | null>,
): Colours | undefined {
  const [colours, setColours] = useState<Colours>()
  const language = languageOf(path)
  const inView = useWasInView(place)
  useEffect(() => {
    if (!language || !inView) return
    let wanted = true
    const sides = sidesOf(hunks)
    const tokens = ({ code }: Side) => (code === '' ? undefined : highlight(code, language))
    void Promise.all([tokens(sides.after), tokens(sides.before)]).then(([after, before]) => {
      const found = coloursOf(sides, { after, before })
      if (wanted && found) startTransition(() => setColours(found))
    })
    return () => {
      wanted = false
    }
  }, [hunks, language, inView])
  return colours
}

function useWasInView(place: RefObject<HTMLElement | null>): boolean {
  const [inView, setInView] = useState(false)
  useEffect(() => {
    if (!place.current) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new IntersectionObserver((entries) => {
      clearTimeout(timer)
      if (entries.at(-1)?.isIntersecting) timer = setTimeout(() => setInView(true), lingerMs)
    })
    observer.observe(place.current)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [place])
  return inView
}
