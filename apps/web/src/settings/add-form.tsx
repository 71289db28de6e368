import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import { useFocusBack } from '../base/focus.ts'
import { Button } from '../parts/button.tsx'
import { Labelled, Text, type TextOptions } from './form-parts.tsx'

type Props<Fields, Body> = {
  button: string
  /** The accessible name of the form. */
  label: string
  empty: Fields
  read: (fields: Fields) => { readonly body: Body } | { readonly problem: string }
  /** Adds the entry. A thrown error is shown in the form. */
  send: (body: Body) => Promise<unknown>
  onAdded: () => void
  children: (form: OpenForm<Fields>) => ReactNode
}

type OpenForm<Fields> = {
  readonly fields: Fields
  readonly write: (change: Partial<Fields>) => void
  /** Renders a text field for the entry `name` of `fields`. */
  readonly text: (name: keyof Fields, label: string, placeholder: string, options?: TextOptions) => ReactNode
}

/**
 * A button that opens a form. The form closes when the entry is added. If the entry cannot be added, the form shows the problem.
 */
export function AddForm<Fields extends object, Body>({ empty, read, send, ...props }: Props<Fields, Body>) {
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
    const entry = read(fields)
    if ('problem' in entry) return setProblem(entry.problem)
    setAdding(true)
    try {
      await send(entry.body)
      setProblem('')
      setFields(empty)
      setOpen(false)
      props.onAdded()
    } catch (thrown) {
      setProblem(errorText(thrown))
    } finally {
      setAdding(false)
    }
  }
  const text: OpenForm<Fields>['text'] = (name, label, placeholder, options) => (
    <Labelled label={label}>
      <Text
        value={String(fields[name])}
        placeholder={placeholder}
        {...options}
        onWrite={(value) => write({ [name]: value } as Partial<Fields>)}
      />
    </Labelled>
  )
  const place = useRef<HTMLDivElement>(null)
  useFocusBack(open, () => place.current?.querySelector('button'))
  if (!open) {
    return (
      <div ref={place} className="pt-3">
        <Button onClick={() => setOpen(true)}>{props.button}</Button>
      </div>
    )
  }
  return (
    <form
      aria-label={props.label}
      onSubmit={(event) => void add(event)}
      className="mt-3 flex flex-col gap-3 rounded-lg border border-edge bg-card p-3.5 text-sm"
    >
      {props.children({ fields, write, text })}
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
