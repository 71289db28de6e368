import { type KeyboardEvent, useId } from 'react'
import { visible } from '../base/format.logic.ts'
import { type Edits, editedInput, inputForm, textIn } from './input-form.logic.ts'

type Props = {
  input: unknown
  edits: Edits
  problem: string | undefined
  /** The field that has the problem; undefined if the problem is in the JSON. */
  at: string | undefined
  onEdit: (edits: Edits) => void
  onKeyDown: (event: KeyboardEvent) => void
}

/** Edits the input of a call before it runs, with a field for each string. */
function EditForm({ input, edits, problem, at, onEdit, onKeyDown }: Props) {
  const { texts, others } = inputForm(input)
  return (
    <div className="flex flex-col gap-2 pb-0.5">
      {texts.map((field, index) => (
        <Field
          key={field.name}
          label={visible(field.name)}
          first={index === 0}
          value={textIn(edits, field)}
          problem={at === field.name ? problem : undefined}
          onWrite={(text) => onEdit({ ...edits, texts: { ...edits.texts, [field.name]: text } })}
          onKeyDown={onKeyDown}
        />
      ))}
      {others !== undefined && (
        <Field
          label={texts.length > 0 ? 'Other input, as JSON' : 'Input, as JSON'}
          first={texts.length === 0}
          value={edits.others ?? others}
          problem={at === undefined ? problem : undefined}
          onWrite={(text) => onEdit({ ...edits, others: text })}
          onKeyDown={onKeyDown}
        />
      )}
    </div>
  )
}

type FieldProps = {
  label: string
  first: boolean
  value: string
  problem?: string | undefined
  onWrite: (text: string) => void
  onKeyDown: (event: KeyboardEvent) => void
}

function Field({ label, first, value, problem, onWrite, onKeyDown }: FieldProps) {
  const id = useId()
  return (
    <div>
      <div className="flex flex-wrap gap-x-3 pb-0.5 text-xs [overflow-wrap:anywhere]">
        <label htmlFor={id} className="text-soft">
          {label}
        </label>
        <p id={`${id}-problem`} role="alert" className="text-bad">
          {problem}
        </p>
      </div>
      <textarea
        id={id}
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to edit
        autoFocus={first}
        value={value}
        rows={Math.min(10, value.split('\n').length)}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onChange={(event) => onWrite(event.target.value)}
        onKeyDown={onKeyDown}
        className="field field-sizing-content block max-h-60 w-full font-mono text-code pointer-coarse:py-2.5 pointer-coarse:text-base"
      />
      {visible(value) !== value && (
        <p className="pt-1 text-xs text-wait [overflow-wrap:anywhere] whitespace-pre-wrap">
          With hidden characters shown: <code>{visible(value)}</code>
        </p>
      )}
    </div>
  )
}

export default { EditForm, editedInput }
