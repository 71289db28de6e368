import { ChevronLeft, ChevronRight, type LucideIcon } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import type { OpenMenu } from './menu.tsx'
import { focusUnderPointer, MenuFrame } from './menu-frame.tsx'

export type MenuEntry = {
  readonly label: string
  readonly icon?: LucideIcon
  readonly danger?: boolean
  readonly onSelect?: () => void
  /** A submenu, which replaces the menu while it is open. */
  readonly entries?: readonly MenuEntry[]
}

type Props = OpenMenu & { entries: readonly MenuEntry[] }

export default function MenuList({ entries, ...menu }: Props) {
  const [inside, setInside] = useState<MenuEntry>()
  /** The label of the entry whose submenu is open. It gets the focus back when the submenu closes. */
  const openedLabel = useRef<string>(undefined)
  const startAt = (items: readonly HTMLElement[]) => {
    const first = inside ? items[1] : items.find((item) => item.textContent === openedLabel.current)
    openedLabel.current = inside?.label
    return first
  }
  const back: MenuEntry = { label: 'Back', icon: ChevronLeft }
  const shown = inside?.entries ? [back, ...inside.entries] : entries
  const choose = (entry: MenuEntry) => {
    if (entry === back) return setInside(undefined)
    if (entry.entries) return setInside(entry)
    menu.onClose()
    entry.onSelect?.()
  }
  const onKey = ({ key }: KeyboardEvent, place: number) => {
    const under = shown[place]
    if (key === 'ArrowLeft') setInside(undefined)
    else if (key === 'ArrowRight' && under?.entries) setInside(under)
    else return false
    return true
  }
  return (
    <MenuFrame
      {...menu}
      label={inside?.label ?? menu.label}
      page={inside?.label}
      startAt={startAt}
      onKey={onKey}
    >
      {shown.map((entry) => (
        <MenuItem key={entry.label} entry={entry} onChoose={() => choose(entry)} />
      ))}
    </MenuFrame>
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
      onPointerMove={focusUnderPointer}
      className={`flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-left text-sm focus:bg-hover focus:outline-none pointer-coarse:min-h-11 ${entry.danger ? 'text-bad' : ''}`}
    >
      {Icon && <Icon size={14} />}
      {entry.label}
      {entry.entries && <ChevronRight size={14} aria-hidden className="ml-auto text-faint" />}
    </button>
  )
}
