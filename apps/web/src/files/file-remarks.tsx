import { Button, Key } from '../parts/button.tsx'
import { type RemarkEditor, RemarkForm } from '../remarks/remark-form.tsx'
import { linesText } from '../remarks/remarks.logic.ts'
import { UnsentRemarks } from '../remarks/unsent-remarks.tsx'
import type { LineRange } from './use-file-lines.ts'

type Props = {
  editor: RemarkEditor
  /** The chosen lines. */
  range: LineRange | undefined
  onRemark: (range: LineRange) => void
  onCancel: () => void
}

/** The remarks on a file, below its lines: the form, the written remarks, and the button that sends all of them. */
export function FileRemarks({ editor, range, onRemark, onCancel }: Props) {
  const { remarks, editing } = editor
  return (
    <div className="max-h-[45%] shrink-0 overflow-y-auto text-sm">
      {editing ? (
        <div className="border-t border-line bg-page px-4 py-2">
          {editing.firstLine === undefined && <p className="pb-1 text-xs text-soft">Line {editing.line}</p>}
          <RemarkForm {...editor} editing={editing} />
        </div>
      ) : (
        range && (
          <p className="flex flex-wrap items-center gap-2 border-t border-line bg-card px-4 py-1 text-xs text-soft">
            <span role="status" className="min-w-0 flex-1">
              {range.open ? 'Tap the number of the last line.' : placeText(range)}
            </span>
            <Button onClick={() => onRemark({ from: range.from, to: range.to })}>
              Write a remark <Key>C</Key>
            </Button>
            {range.from < range.to && (
              <Button look="quiet" onClick={onCancel}>
                Cancel
              </Button>
            )}
          </p>
        )
      )}
      {remarks.length > 0 && (
        <ul aria-label="Remarks on this file" className="border-t border-line px-4 py-2">
          {remarks.map((remark) => (
            <li key={`${remark.side}${remark.line}`} className="py-0.5">
              <button
                type="button"
                disabled={remark.side === 'before'}
                onClick={() => editor.onOpen(remark)}
                className="block w-full rounded-md border border-mark/40 bg-mark-wash px-2.5 py-1.5 text-left [overflow-wrap:anywhere] whitespace-pre-wrap pointer-coarse:min-h-11"
              >
                <span className="block text-xs text-soft first-letter:uppercase">{linesText(remark)}</span>
                {remark.text}
              </button>
            </li>
          ))}
        </ul>
      )}
      <UnsentRemarks />
    </div>
  )
}

const placeText = ({ from, to }: LineRange) => (from === to ? `Line ${from}` : `Lines ${from} to ${to}`)
