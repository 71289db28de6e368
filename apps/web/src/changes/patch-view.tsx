import { MessageSquarePlus } from 'lucide-react'
import { Fragment, memo, useState } from 'react'
import { type DiffLine, type DiffLines, type Hunk, lineWords } from '../diff/lines.logic.ts'
import { useStore } from '../page/store.ts'
import { plural } from '../page/words.logic.ts'
import { Button } from '../parts/button.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { useSessionId } from '../session/session-context.tsx'
import { type Comment, samePlace, withComment } from './comments.logic.ts'
import { commentsOf } from './comments.ts'
import { pairsOf } from './split.logic.ts'

const shownAtFirst = 300

type Props = { path: string; lines: DiffLines; split: boolean }

/** The patch of one file, with remarks between its lines. */
export const PatchView = memo(function PatchView({ path, lines, split }: Props) {
  const [limit, setLimit] = useState(shownAtFirst)
  const [editing, setEditing] = useState<DiffLine>()
  const total = lines.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  const rows = { path, editing, onEdit: setEditing, split }
  return (
    <>
      <ScrollRegion className="diff max-h-none" label={`Changes to ${path}`}>
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
            {cut(lines.hunks, limit).map((hunk, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no identity but their place
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
      {total > limit && (
        <button
          type="button"
          className="w-full border-t border-line px-3 py-1.5 text-left text-xs font-medium text-mark hover:bg-hover"
          onClick={() => setLimit(limit + 2000)}
        >
          {plural(total - limit, 'more line')}
        </button>
      )}
    </>
  )
})

function cut(hunks: readonly Hunk[], limit: number): Hunk[] {
  let left = limit
  return hunks.flatMap((hunk) => {
    if (left <= 0) return []
    const lines = hunk.lines.slice(0, left)
    left -= lines.length
    return [{ lines }]
  })
}

type RowsProps = {
  hunk: Hunk
  path: string
  split: boolean
  editing: DiffLine | undefined
  onEdit: (line: DiffLine | undefined) => void
}

const signs = { added: '+', removed: '−', same: ' ' }

function StackedRows({ hunk, ...rest }: RowsProps) {
  return hunk.lines.map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
    <Fragment key={index}>
      <tr className={`group/line ${line.type}`}>
        <LineNumber line={line} path={rest.path} onEdit={rest.onEdit} />
        <td className="sign">{signs[line.type]}</td>
        <td className="words">{lineWords(line.text)}</td>
      </tr>
      <Remark line={line} {...rest} />
    </Fragment>
  ))
}

function SplitRows({ hunk, ...rest }: RowsProps) {
  return pairsOf(hunk.lines).map(({ before, after }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
    <Fragment key={index}>
      <tr className="group/line">
        <HalfLine line={before} side="before" path={rest.path} onEdit={rest.onEdit} />
        <HalfLine line={after} side="after" path={rest.path} onEdit={rest.onEdit} />
      </tr>
      {before && before.type === 'removed' && <Remark line={before} {...rest} />}
      {after && <Remark line={after} {...rest} />}
    </Fragment>
  ))
}

function HalfLine({
  line,
  side,
  path,
  onEdit,
}: {
  line: DiffLine | undefined
  side: 'before' | 'after'
  path: string
  onEdit: RowsProps['onEdit']
}) {
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
      <td className={`sign ${look}`}>{line.type === 'same' ? '' : signs[line.type]}</td>
      <td className={`words whitespace-pre-wrap! [overflow-wrap:anywhere] ${look}`}>
        {lineWords(line.text)}
      </td>
    </>
  )
}

function LineNumber({
  line,
  path,
  onEdit,
  look = '',
}: {
  line: DiffLine
  path: string
  onEdit: RowsProps['onEdit']
  look?: string
}) {
  const number = line.after ?? line.before
  return (
    <td className={`number relative ${look}`}>
      {number}
      <button
        type="button"
        tabIndex={-1}
        aria-label={`Remark on line ${number} of ${path}`}
        onClick={() => onEdit(line)}
        className="absolute inset-0 flex items-center justify-center bg-mark-fill text-white opacity-0 group-hover/line:opacity-100 focus-visible:opacity-100 pointer-coarse:group-hover/line:opacity-0"
      >
        <MessageSquarePlus size={13} />
      </button>
    </td>
  )
}

/** The remark on a line, or the field to write it in. */
function Remark({ line, path, editing, onEdit, split }: Omit<RowsProps, 'hunk'> & { line: DiffLine }) {
  const store = commentsOf(useSessionId())
  const place = placeOf(line, path)
  const written = useStore(store, ({ comments }) => comments.find((one) => samePlace(one, place)))
  const open = editing === line
  if (!open && !written) return null
  const save = (text: string) => {
    store.set(({ comments }) => ({ comments: withComment(comments, { ...place, quote: line.text, text }) }))
    onEdit(undefined)
  }
  return (
    <tr>
      <td colSpan={split ? 6 : 3} className="bg-page px-3 py-2 font-sans whitespace-normal">
        {open ? (
          <RemarkForm text={written?.text ?? ''} onSave={save} onCancel={() => onEdit(undefined)} />
        ) : (
          <button
            type="button"
            onClick={() => onEdit(line)}
            className="block w-full rounded-md border border-mark/40 bg-mark-wash px-2.5 py-1.5 text-left text-sm whitespace-pre-wrap"
          >
            {written?.text}
          </button>
        )}
      </td>
    </tr>
  )
}

function placeOf(line: DiffLine, path: string): Omit<Comment, 'text' | 'quote'> {
  if (line.type === 'removed') return { path, line: line.before ?? 0, side: 'before' }
  return { path, line: line.after ?? 0, side: 'after' }
}

function RemarkForm({
  text,
  onSave,
  onCancel,
}: {
  text: string
  onSave: (text: string) => void
  onCancel: () => void
}) {
  const [words, setWords] = useState(text)
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        onSave(words)
      }}
    >
      <textarea
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to write
        autoFocus
        aria-label="Remark"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) onSave(words)
        }}
        className="field field-sizing-content min-h-14 w-full"
      />
      <span className="flex gap-1.5">
        <Button type="submit" look="primary">
          Keep
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
        {text !== '' && (
          <Button look="danger" className="ml-auto" onClick={() => onSave('')}>
            Remove
          </Button>
        )}
      </span>
    </form>
  )
}
