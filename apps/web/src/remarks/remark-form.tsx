import { useState } from 'react'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import type { DiffLine } from '../parts/diff/lines.logic.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { linesText, placeOf, type Remark, remarkOn, samePlace, withRemark } from './remarks.logic.ts'
import { remarksOf } from './remarks.ts'

/**
 * The remark that is being written. It is identified by its file, side and line number, because the line objects
 * change whenever the file changes.
 */
type Editing = Remark

export type RemarkEditor = {
  readonly remarks: readonly Remark[]
  readonly editing: Editing | undefined
  /** Opens the form for a remark on adjacent lines of a hunk. */
  onEdit(lines: readonly DiffLine[]): void
  /** Opens the form for a remark that is written. */
  onOpen(remark: Remark): void
  onWrite(text: string): void
  onSave(text: string): void
  onCancel(): void
}

export function useRemarkEditor(path: string): RemarkEditor {
  const store = remarksOf(useSessionId())
  const remarks = useStore(store).comments.filter((remark) => remark.path === path)
  const [editing, setEditing] = useState<Editing>()
  return {
    remarks,
    editing,
    onEdit(lines) {
      const empty = remarkOn(lines, path)
      const written = remarks.find((one) => samePlace(one, empty))
      setEditing(lines.length === 1 && written ? written : { ...empty, text: written?.text ?? '' })
    },
    onOpen: setEditing,
    onWrite: (text) => setEditing((before) => before && { ...before, text }),
    onSave(text) {
      if (!editing) return
      store.set(({ comments }) => ({ comments: withRemark(comments, { ...editing, text }) }))
      setEditing(undefined)
    },
    onCancel: () => setEditing(undefined),
  }
}

/**
 * The remark on a line, or the form for a new remark. A plain function, because most lines have neither and
 * need no component.
 */
export function remarkRow(
  line: DiffLine,
  { path, split, ...editor }: RemarkEditor & { readonly path: string; readonly split: boolean },
) {
  const { remarks, editing } = editor
  if (!editing && remarks.length === 0) return null
  const place = placeOf(line, path)
  const open = editing && samePlace(editing, place) ? editing : undefined
  const written = remarks.find((one) => samePlace(one, place))
  if (!open && !written) return null
  return (
    <tr>
      <td colSpan={split ? 6 : 3} className="bg-page px-3 py-2 font-sans whitespace-normal">
        {/* This element is as wide as the visible part of the file, not as its longest line, and stays visible when
            the file is scrolled horizontally. */}
        <div className="sticky left-3 w-[calc(100cqw-1.5rem)]">
          {open ? (
            <RemarkForm {...editor} editing={open} />
          ) : (
            <button
              type="button"
              onClick={() => editor.onEdit([line])}
              className="block w-full rounded-md border border-mark/40 bg-mark-wash px-2.5 py-1.5 text-left text-sm [overflow-wrap:anywhere] whitespace-pre-wrap"
            >
              {written?.firstLine !== undefined && (
                <span className="block text-xs text-soft first-letter:uppercase">{linesText(written)}</span>
              )}
              {written?.text}
            </button>
          )}
        </div>
      </td>
    </tr>
  )
}

type Props = Omit<RemarkEditor, 'editing'> & { readonly editing: Editing }

export function RemarkForm({ editing, remarks, onWrite, onSave, onCancel }: Props) {
  const { text, firstLine } = editing
  const isWritten = remarks.some((one) => samePlace(one, editing))
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        onSave(text)
      }}
    >
      {firstLine !== undefined && (
        <span className="text-xs text-soft first-letter:uppercase">{linesText(editing)}</span>
      )}
      <textarea
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to write a remark
        autoFocus
        aria-label="Remark"
        value={text}
        onChange={(event) => onWrite(event.target.value)}
        onKeyDown={(event) => {
          // In the field, the shortcut keys of the panel type characters.
          event.stopPropagation()
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) onSave(text)
        }}
        className="field field-sizing-content min-h-14 w-full"
      />
      <span className="flex gap-1.5">
        <Button type="submit" look="primary">
          {isWritten ? 'Save remark' : 'Add remark'}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
        {isWritten && (
          <Button look="danger" className="ml-auto" onClick={() => onSave('')}>
            Remove
          </Button>
        )}
      </span>
    </form>
  )
}
