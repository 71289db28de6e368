import { useState } from 'react'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import type { DiffLine } from '../parts/diff/lines.logic.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { type Comment, type Place, placeOf, samePlace, withComment } from './comments.logic.ts'
import { commentsOf } from './comments.ts'

/** The comment that is being written. Its place identifies it: the line objects change whenever the file changes. */
type Editing = Place & { readonly quote: string; readonly words: string }

export type Remarking = {
  /** The comments on this file. */
  readonly remarks: readonly Comment[]
  readonly editing: Editing | undefined
  onEdit(line: DiffLine): void
  onWrite(words: string): void
  onSave(words: string): void
  onCancel(): void
}

export function useRemarking(path: string): Remarking {
  const store = commentsOf(useSessionId())
  const remarks = useStore(store).comments.filter((comment) => comment.path === path)
  const [editing, setEditing] = useState<Editing>()
  return {
    remarks,
    editing,
    onEdit(line) {
      const place = placeOf(line, path)
      const words = remarks.find((one) => samePlace(one, place))?.text ?? ''
      setEditing({ ...place, quote: line.text, words })
    },
    onWrite: (words) => setEditing((before) => before && { ...before, words }),
    onSave(text) {
      if (!editing) return
      const { words: _, ...place } = editing
      store.set(({ comments }) => ({ comments: withComment(comments, { ...place, text }) }))
      setEditing(undefined)
    },
    onCancel: () => setEditing(undefined),
  }
}

/** The comment on a line, or the form to write one. A plain function: most lines have neither and need no component. */
export function remarkOn(
  line: DiffLine,
  { path, split, ...remarking }: Remarking & { readonly path: string; readonly split: boolean },
) {
  const { remarks, editing } = remarking
  if (!editing && remarks.length === 0) return null
  const place = placeOf(line, path)
  const open = editing && samePlace(editing, place) ? editing : undefined
  const written = remarks.find((one) => samePlace(one, place))
  if (!open && !written) return null
  return (
    <tr>
      <td colSpan={split ? 6 : 3} className="bg-page px-3 py-2 font-sans whitespace-normal">
        {/* As wide as the visible part of the file, not as its longest line, and in view at any horizontal scroll. */}
        <div className="sticky left-3 w-[calc(100cqw-1.5rem)]">
          {open ? (
            <RemarkForm {...remarking} editing={open} />
          ) : (
            <button
              type="button"
              onClick={() => remarking.onEdit(line)}
              className="block w-full rounded-md border border-mark/40 bg-mark-wash px-2.5 py-1.5 text-left text-sm [overflow-wrap:anywhere] whitespace-pre-wrap"
            >
              {written?.text}
            </button>
          )}
        </div>
      </td>
    </tr>
  )
}

export function RemarkForm({
  editing,
  remarks,
  onWrite,
  onSave,
  onCancel,
}: Omit<Remarking, 'editing'> & { readonly editing: Editing }) {
  const { words } = editing
  const isWritten = remarks.some((one) => samePlace(one, editing))
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        onSave(words)
      }}
    >
      <textarea
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to write a comment
        autoFocus
        aria-label="Comment"
        value={words}
        onChange={(event) => onWrite(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) onSave(words)
        }}
        className="field field-sizing-content min-h-14 w-full"
      />
      <span className="flex gap-1.5">
        <Button type="submit" look="primary">
          {isWritten ? 'Save comment' : 'Add comment'}
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
