import { type ReactNode, useRef, useState } from 'react'
import { useFocusFallback } from '../base/focus.ts'
import { Button } from '../parts/button.tsx'

type Props = {
  /** The accessible name of the row. */
  label: string
  facts: readonly (string | undefined | false)[]
  children: ReactNode
  actions?: ReactNode
}

/** An entry of a list in the settings: its name, facts about it below, and buttons at the right. */
export function EntryRow({ label, facts, children, actions }: Props) {
  const row = useRef<HTMLLIElement>(null)
  useFocusFallback(row)
  const shown = facts.filter((fact) => fact !== undefined && fact !== false)
  return (
    <li
      ref={row}
      aria-label={label}
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 rounded-lg border border-line bg-card px-3.5 py-2 text-sm"
    >
      <span className="min-w-0 flex-1 basis-56 [overflow-wrap:anywhere]">
        {children}
        <span className="block text-xs text-soft">{shown.join(' · ')}</span>
      </span>
      {actions !== undefined && <span className="ml-auto flex flex-wrap gap-1.5">{actions}</span>}
    </li>
  )
}

type ConfirmedProps = { label: string; what: string; note: string; onConfirm: () => void }

/** A button for an action that cannot be undone. A click asks for confirmation first. */
export function ConfirmedButton({ label, what, note, onConfirm }: ConfirmedProps) {
  const [asking, setAsking] = useState(false)
  if (!asking)
    return (
      <Button look="danger" aria-label={`${label} ${what}`} onClick={() => setAsking(true)}>
        {label}
      </Button>
    )
  return (
    <span className="flex flex-wrap items-center gap-1.5">
      <span className="text-xs text-wait">{note}</span>
      <Button autoFocus onClick={() => setAsking(false)}>
        Cancel
      </Button>
      <Button
        look="danger"
        aria-label={`${label} ${what} for good`}
        onClick={() => {
          setAsking(false)
          onConfirm()
        }}
      >
        {label}
      </Button>
    </span>
  )
}
