import { type ReactNode, useId, useRef, useState } from 'react'
import { type LazyPart, Part } from '../page/part.tsx'

/** A menu while it is open. */
export type OpenMenu = {
  readonly id: string
  readonly label: string
  readonly anchor: HTMLElement | null
  readonly onClose: () => void
}

type Props<List> = {
  label: string
  /** What the list is made with, fetched when somebody comes near. */
  part: LazyPart<List>
  list: (list: List, menu: OpenMenu) => ReactNode
  children: ReactNode
  className?: string
  tabIndex?: number
}

/** A button with a menu. Arrows move, Enter chooses, Escape leaves; the focus goes back to the button. */
export function Menu<List>({ label, part, list, children, className = '', tabIndex }: Props<List>) {
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const onClose = () => {
    setOpen(false)
    button.current?.focus()
  }
  const id = useId()
  return (
    <>
      <button
        type="button"
        ref={button}
        tabIndex={tabIndex}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onFocus={part.fetch}
        onPointerEnter={part.fetch}
        onClick={() => setOpen(!open)}
        className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink pointer-coarse:size-11 ${className}`}
      >
        {children}
      </button>
      {open && (
        <Part of={part} frame={overThePage}>
          {(shown) => list(shown, { id, label, anchor: button.current, onClose })}
        </Part>
      )}
    </>
  )
}

function overThePage(inside: ReactNode): ReactNode {
  return (
    <div className="fixed inset-x-2 top-14 z-40 mx-auto max-w-md rounded-lg border border-edge bg-card shadow-xl">
      {inside}
    </div>
  )
}
