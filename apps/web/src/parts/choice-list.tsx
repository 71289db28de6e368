import type { RefObject } from 'react'
import { visible } from '../base/format.logic.ts'

export type Choice = { readonly value: string; readonly note?: string }

type ChoiceListProps = {
  id: string
  label: string
  /** Shown before each choice. */
  sign?: string
  choices: readonly Choice[]
  place: number
  side: 'above' | 'below'
  onChoose: (value: string) => void
}

/** The choices of a field. The field keeps the focus and handles the keys. */
export function ChoiceList({ id, label, sign = '', choices, place, side, onChoose }: ChoiceListProps) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label={label}
      className={`absolute inset-x-0 z-20 max-h-72 overflow-y-auto rounded-lg border border-edge bg-card p-1 shadow-xl ${side === 'above' ? 'bottom-full mb-1' : 'top-full mt-1'}`}
    >
      {choices.map((choice, index) => (
        <Option
          key={choice.value}
          id={`${id}-${index}`}
          selected={index === place}
          hovers={place < 0}
          sign={sign}
          choice={choice}
          onChoose={onChoose}
        />
      ))}
    </div>
  )
}

type OptionProps = {
  id: string
  selected: boolean
  /** Whether the row is highlighted under the pointer: true if no row is selected by the keys. */
  hovers: boolean
  sign: string
  choice: Choice
  onChoose: (value: string) => void
}

/** One choice in the list. A long text is cut at its start, because paths usually differ at their end. */
function Option({ id, selected, hovers, sign, choice, onChoose }: OptionProps) {
  const scroll = (element: HTMLElement | null) => {
    if (selected) element?.scrollIntoView({ block: 'nearest' })
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
    <div
      id={id}
      ref={scroll as unknown as RefObject<HTMLDivElement>}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      onPointerDown={(event) => event.preventDefault()}
      onClick={() => onChoose(choice.value)}
      className={`flex min-h-7 cursor-pointer items-center gap-3 rounded-md px-2 py-1 text-sm pointer-coarse:min-h-11 ${selected ? 'bg-mark-wash' : hovers ? 'hover:bg-hover' : ''}`}
    >
      <span className="truncate text-left text-sm [direction:rtl]">
        <bdi dir="ltr">
          {sign}
          {visible(choice.value)}
        </bdi>
      </span>
      {choice.note && (
        <span className="min-w-14 flex-1 truncate text-xs text-soft">{visible(choice.note)}</span>
      )}
    </div>
  )
}
