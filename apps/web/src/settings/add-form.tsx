import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import { useFocusBack } from '../base/focus.ts'
import { Button } from '../parts/button.tsx'

/** A button that opens a form. The form closes when its entry was added; otherwise it shows the problem. */
export function AddForm<Fields extends object>({
  button,
  label,
  empty,
  onAdd,
  children,
}: {
  button: string
  /** The accessible name of the form. */
  label: string
  empty: Fields
  /** Resolves with the problem of the fields, if there is one. A thrown error is shown as well. */
  onAdd: (fields: Fields) => Promise<string | undefined>
  children: (fields: Fields, write: (change: Partial<Fields>) => void) => ReactNode
}) {
  const [open, setOpen] = useState(false)
  const [fields, setFields] = useState(empty)
  const [problem, setProblem] = useState('')
  const [adding, setAdding] = useState(false)
  const write = (change: Partial<Fields>) => {
    setFields({ ...fields, ...change })
    setProblem('')
  }
  const add = async (event: FormEvent) => {
    event.preventDefault()
    setAdding(true)
    const wrong = await onAdd(fields).catch(errorText)
    setAdding(false)
    setProblem(wrong ?? '')
    if (wrong !== undefined) return
    setFields(empty)
    setOpen(false)
  }
  const place = useRef<HTMLDivElement>(null)
  useFocusBack(open, () => place.current?.querySelector('button'))
  if (!open) {
    return (
      <div ref={place} className="pt-3">
        <Button onClick={() => setOpen(true)}>{button}</Button>
      </div>
    )
  }
  return (
    <form
      aria-label={label}
      onSubmit={(event) => void add(event)}
      className="mt-3 flex flex-col gap-3 rounded-lg border border-edge bg-card p-3.5 text-sm"
    >
      {children(fields, write)}
      <div className="flex flex-wrap items-center gap-2">
        <p role="alert" className="min-w-0 flex-1 text-bad [overflow-wrap:anywhere]">
          {problem}
        </p>
        <Button look="quiet" onClick={() => setOpen(false)}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={adding}>
          Add
        </Button>
      </div>
    </form>
  )
}
