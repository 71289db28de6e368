import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { Lazy, type LazyPart } from './lazy-part.tsx'

export type OpenMenu = {
  readonly id: string
  readonly label: string
  readonly anchor: HTMLElement | null
  readonly onClose: () => void
}

type Props<List> = {
  label: string
  /** The tooltip, if it is not the label. */
  title?: string | undefined
  /** The code of the list, fetched when the button is focused or the pointer is over it. */
  part: LazyPart<List>
  list: (list: List, menu: OpenMenu) => ReactNode
  children: ReactNode
  className?: string
  /** `icon`: a square with an icon. `text`: as wide as its text, which is also its name. */
  look?: 'icon' | 'text'
  tabIndex?: number
}

const looks = {
  icon: 'size-7 shrink-0 justify-center pointer-coarse:size-11',
  text: 'h-7 min-w-0 gap-1 px-1.5 text-xs pointer-coarse:h-11 pointer-coarse:px-2',
}

/** A button with a menu. Arrow keys move, Enter chooses, Escape closes. The focus returns to the button. */
export function Menu<List>({
  label,
  title = label,
  part,
  list,
  children,
  className = '',
  look = 'icon',
  tabIndex,
}: Props<List>) {
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const onClose = () => {
    setOpen(false)
    button.current?.focus()
  }
  /** Closes the menu on Escape until the list is loaded. Then the list handles the key itself. */
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
  /** Closes the menu if the button loses the focus before the list is loaded. */
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
        aria-label={look === 'icon' ? label : undefined}
        title={title}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onFocus={part.fetch}
        onPointerEnter={part.fetch}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
        onClick={() => setOpen(!open)}
        className={`inline-flex items-center rounded-md text-soft hover:bg-hover hover:text-ink ${looks[look]} ${className}`}
      >
        {children}
      </button>
      {open && (
        <Lazy
          part={part}
          frame={(inside) => (
            <MenuProblem onKeyDown={leave} onClose={onClose}>
              {inside}
            </MenuProblem>
          )}
        >
          {(shown) => list(shown, { id, label, anchor: button.current, onClose })}
        </Lazy>
      )}
    </>
  )
}

type MenuProblemProps = {
  children: ReactNode
  onKeyDown: (event: KeyboardEvent) => void
  onClose: () => void
}

/** Stands in for a list that cannot be loaded: shows the error over the page, with a close button. */
function MenuProblem({ children, onKeyDown, onClose }: MenuProblemProps) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles keys of the buttons inside
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
