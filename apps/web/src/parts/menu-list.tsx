import { ChevronLeft, ChevronRight, type LucideIcon } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import type { OpenMenu } from './menu.tsx'

export type MenuEntry = {
  readonly label: string
  readonly icon?: LucideIcon
  readonly danger?: boolean
  readonly onSelect?: () => void
  /** A submenu, which replaces the menu while it is open. */
  readonly entries?: readonly MenuEntry[]
}

type Props = OpenMenu & { entries: readonly MenuEntry[] }

export default function MenuList({ id, label, entries, anchor, onClose }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const [inside, setInside] = useState<MenuEntry>()
  /** The label of the entry whose submenu is open. It gets the focus back when the submenu closes. */
  const openedLabel = useRef<string>(undefined)
  useEffect(() => {
    const element = list.current
    if (!element) return
    if (!element.matches(':popover-open')) element.showPopover()
    place(element, anchor)
    const buttons = [...element.querySelectorAll('button')]
    const first = inside ? 1 : buttons.findIndex((button) => button.textContent === openedLabel.current)
    buttons[Math.max(0, first)]?.focus()
    openedLabel.current = inside?.label
  }, [anchor, inside])
  const back: MenuEntry = { label: 'Back', icon: ChevronLeft }
  const shown = inside?.entries ? [back, ...inside.entries] : entries
  const choose = (entry: MenuEntry) => {
    if (entry === back) return setInside(undefined)
    if (entry.entries) return setInside(entry)
    onClose()
    entry.onSelect?.()
  }
  const move = (event: KeyboardEvent) => {
    const items = [...(list.current?.querySelectorAll('button') ?? [])]
    const now = items.indexOf(document.activeElement as HTMLButtonElement)
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 }[event.key]
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault()
      event.stopPropagation()
      onClose()
    }
    if (event.key === 'ArrowLeft') setInside(undefined)
    const under = shown[now]
    if (event.key === 'ArrowRight' && under?.entries) setInside(under)
    if (to === undefined) return
    event.preventDefault()
    items[(to + items.length) % items.length]?.focus()
  }
  return (
    <div
      id={id}
      ref={list}
      role="menu"
      tabIndex={-1}
      aria-label={inside?.label ?? label}
      popover="auto"
      onKeyDown={move}
      onToggle={(event) => event.newState === 'closed' && onClose()}
      className="fixed m-0 min-w-44 rounded-lg border border-edge bg-card p-1 text-ink shadow-xl"
    >
      {shown.map((entry) => (
        <MenuItem key={entry.label} entry={entry} onChoose={() => choose(entry)} />
      ))}
    </div>
  )
}

function MenuItem({ entry, onChoose }: { entry: MenuEntry; onChoose: () => void }) {
  const Icon = entry.icon
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      aria-haspopup={entry.entries ? 'menu' : undefined}
      onClick={onChoose}
      // Moving the pointer moves the focus, so that only one row is highlighted.
      onPointerMove={({ currentTarget, pointerType }) => {
        if (pointerType === 'mouse') currentTarget.focus({ preventScroll: true })
      }}
      className={`flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-left text-sm focus:bg-hover focus:outline-none pointer-coarse:min-h-11 ${entry.danger ? 'text-bad' : ''}`}
    >
      {Icon && <Icon size={14} />}
      {entry.label}
      {entry.entries && <ChevronRight size={14} aria-hidden className="ml-auto text-faint" />}
    </button>
  )
}

/** Places the list inside the window: below its button, or above it if there is no room below. */
function place(element: HTMLElement, anchor: HTMLElement | null): void {
  const from = anchor?.getBoundingClientRect()
  if (!from) return
  element.style.left = '0'
  const { width, height } = element.getBoundingClientRect()
  const below = from.bottom + 4 + height <= innerHeight
  element.style.top = `${Math.max(8, below ? from.bottom + 4 : from.top - height - 4)}px`
  element.style.left = `${Math.max(8, Math.min(from.right - width, innerWidth - width - 8))}px`
}
