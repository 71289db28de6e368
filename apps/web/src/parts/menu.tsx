import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { type LazyPart, Part } from '../page/part.tsx'
import { Button } from './button.tsx'

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
  /** What is inside has its own use of the key, once it is there. */
  const leave = (event: KeyboardEvent) => {
    if (!open || event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    leave(event)
    if (open || event.key !== 'ArrowDown') return
    event.preventDefault()
    event.stopPropagation()
    setOpen(true)
  }
  /** Who went elsewhere before it came does not want it any more. */
  const onBlur = () => {
    const { shown, error } = part.loaded.get()
    if (!shown && !error) setOpen(false)
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
        onKeyDown={onKeyDown}
        onBlur={onBlur}
        onClick={() => setOpen(!open)}
        className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink pointer-coarse:size-11 ${className}`}
      >
        {children}
      </button>
      {open && (
        <Part
          of={part}
          frame={(inside) => (
            <NotThere onKeyDown={leave} onClose={onClose}>
              {inside}
            </NotThere>
          )}
        >
          {(shown) => list(shown, { id, label, anchor: button.current, onClose })}
        </Part>
      )}
    </>
  )
}

/** In place of a list that cannot be had: what is wrong with it, over the page, with a way out. */
function NotThere({
  children,
  onKeyDown,
  onClose,
}: {
  children: ReactNode
  onKeyDown: (event: KeyboardEvent) => void
  onClose: () => void
}) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears the key of the buttons in it
    <div
      onKeyDown={onKeyDown}
      className="fixed inset-x-2 top-14 z-40 mx-auto max-w-md rounded-lg border border-edge bg-card p-2 shadow-xl"
    >
      {children}
      <Button look="quiet" onClick={onClose}>
        Close
      </Button>
    </div>
  )
}
