import type { ChangeSide } from '@parley/protocol'
import { useId } from 'react'

/** What is shown of a partly staged file. Undefined: its whole change. */
export type ShownPart = ChangeSide | undefined

const parts = [
  ['All', undefined],
  ['Not staged', 'unstaged'],
  ['Staged', 'staged'],
] as const

type Props = { path: string; part: ShownPart; onChoose: (part: ShownPart) => void }

/** The choice of a part of a partly staged file, whose changes can be staged or unstaged one by one. */
export function PartChoice({ path, part, onChoose }: Props) {
  const name = useId()
  return (
    <fieldset className="flex gap-3 border-b border-line px-3 py-1 text-xs text-soft">
      <legend className="sr-only">Shown changes of {path}</legend>
      {parts.map(([label, value]) => (
        <label key={label} className="flex items-center gap-1.5 hover:text-ink pointer-coarse:min-h-11">
          <input
            type="radio"
            name={name}
            checked={part === value}
            onChange={() => onChoose(value)}
            className="accent-mark-fill"
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
}
