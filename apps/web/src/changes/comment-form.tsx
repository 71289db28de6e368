import { useState } from 'react'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import type { DiffLine } from '../parts/diff/lines.logic.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { type Comment, placeOf, samePlace, withComment } from './comments.logic.ts'
import { commentsOf } from './comments.ts'

/**
 * The comment that is being written. It is identified by its file, side and line number, because the line objects
 * change whenever the file changes.
 */
type Editing = Comment

export type CommentEditor = {
  readonly comments: readonly Comment[]
  readonly editing: Editing | undefined
  onEdit(line: DiffLine): void
  onWrite(text: string): void
  onSave(text: string): void
  onCancel(): void
}

export function useCommentEditor(path: string): CommentEditor {
  const store = commentsOf(useSessionId())
  const comments = useStore(store).comments.filter((comment) => comment.path === path)
  const [editing, setEditing] = useState<Editing>()
  return {
    comments,
    editing,
    onEdit(line) {
      const place = placeOf(line, path)
      const text = comments.find((one) => samePlace(one, place))?.text ?? ''
      setEditing({ ...place, quote: line.text, text })
    },
    onWrite: (text) => setEditing((before) => before && { ...before, text }),
    onSave(text) {
      if (!editing) return
      store.set(({ comments }) => ({ comments: withComment(comments, { ...editing, text }) }))
      setEditing(undefined)
    },
    onCancel: () => setEditing(undefined),
  }
}

/** The comment on a line, or the form to write one. A plain function: most lines have neither and need no component. */
export function commentRow(
  line: DiffLine,
  { path, split, ...editor }: CommentEditor & { readonly path: string; readonly split: boolean },
) {
  const { comments, editing } = editor
  if (!editing && comments.length === 0) return null
  const place = placeOf(line, path)
  const open = editing && samePlace(editing, place) ? editing : undefined
  const written = comments.find((one) => samePlace(one, place))
  if (!open && !written) return null
  return (
    <tr>
      <td colSpan={split ? 6 : 3} className="bg-page px-3 py-2 font-sans whitespace-normal">
        {/* This element is as wide as the visible part of the file, not as its longest line, and stays visible when
            the file is scrolled horizontally. */}
        <div className="sticky left-3 w-[calc(100cqw-1.5rem)]">
          {open ? (
            <CommentForm {...editor} editing={open} />
          ) : (
            <button
              type="button"
              onClick={() => editor.onEdit(line)}
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

type Props = Omit<CommentEditor, 'editing'> & { readonly editing: Editing }

export function CommentForm({ editing, comments, onWrite, onSave, onCancel }: Props) {
  const { text } = editing
  const isWritten = comments.some((one) => samePlace(one, editing))
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        onSave(text)
      }}
    >
      <textarea
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to write a comment
        autoFocus
        aria-label="Comment"
        value={text}
        onChange={(event) => onWrite(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) onSave(text)
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
