import { type KeyboardEvent, type ReactNode, useEffect, useEffectEvent, useRef } from 'react'
import { useIsNarrow } from '../base/effects.ts'
import type { OpenMenu } from './menu.tsx'

type Props = OpenMenu & {
  /** Identifies the shown entries. When it changes, `startAt` gets the focus. */
  page?: string | undefined
  startAt: (items: readonly HTMLElement[]) => HTMLElement | undefined
  /** Returns true if it used the key. */
  onKey?: (event: KeyboardEvent, place: number) => boolean
  /** The side of the button with which the menu is aligned. */
  align?: 'left' | 'right'
  /** Whether the menu is a sheet at the bottom of a narrow screen. */
  isSheet?: boolean
  className?: string
  children: ReactNode
}

const itemSelector = '[role^=menuitem]:not([hidden])'
const sheet =
  'max-md:inset-x-0! max-md:top-auto! max-md:bottom-0! max-md:w-full! max-md:max-w-none! max-md:rounded-b-none max-md:pb-[max(0.5rem,env(safe-area-inset-bottom))] max-md:backdrop:bg-[light-dark(rgb(40_36_28/0.28),rgb(0_0_0/0.55))]'

/**
 * An open menu beside its button. Arrow keys, Home, End and the first letters of an entry move the focus; Escape, Tab
 * and a click outside close it. The entries are elements with a role that begins with `menuitem`.
 */
export function MenuFrame(props: Props) {
  const { id, label, anchor, onClose, page, startAt, onKey, align = 'right', isSheet = false } = props
  const list = useRef<HTMLDivElement>(null)
  const start = useEffectEvent(startAt)
  const typed = useRef({ text: '', at: 0 })
  const isNarrow = useIsNarrow()
  // biome-ignore lint/correctness/useExhaustiveDependencies: focused again when the entries are replaced
  useEffect(() => {
    const element = list.current
    if (!element) return
    if (!element.matches(':popover-open')) element.showPopover()
    if (!(isSheet && isNarrow)) place(element, anchor, align)
    const first = start(itemsIn(element)) ?? itemsIn(element)[0]
    first?.focus()
    first?.scrollIntoView({ block: 'nearest' })
  }, [anchor, page, isNarrow, isSheet, align])
  const move = (event: KeyboardEvent) => {
    const items = itemsIn(list.current)
    const now = items.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault()
      event.stopPropagation()
      return onClose()
    }
    if (onKey?.(event, now)) return event.preventDefault()
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 }[event.key]
    const next =
      to === undefined ? itemOfKey(event, items, typed.current) : items[(to + items.length) % items.length]
    if (!next) return
    event.preventDefault()
    next.focus()
  }
  return (
    <div
      id={id}
      ref={list}
      role="menu"
      tabIndex={-1}
      aria-label={label}
      popover="auto"
      onKeyDown={move}
      onToggle={(event) => event.newState === 'closed' && onClose()}
      className={`fixed m-0 min-w-44 overflow-y-auto overscroll-contain rounded-lg border border-edge bg-card p-1 text-ink shadow-xl ${isSheet ? `${sheet} max-md:max-h-[85dvh]!` : ''} ${props.className ?? ''}`}
    >
      {props.children}
    </div>
  )
}

function itemsIn(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>(itemSelector) ?? [])].filter(
    (item) => item.getClientRects().length > 0,
  )
}

/** Moving the pointer moves the focus, so that only one entry is highlighted. */
export function focusUnderPointer({
  currentTarget,
  pointerType,
}: {
  readonly currentTarget: HTMLElement
  readonly pointerType: string
}): void {
  if (pointerType === 'mouse') currentTarget.focus({ preventScroll: true })
}

const typingMs = 700

/** The next entry whose text begins with the letters that were just typed. */
function itemOfKey(
  event: KeyboardEvent,
  items: readonly HTMLElement[],
  typed: { text: string; at: number },
): HTMLElement | undefined {
  if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return undefined
  const isMore = event.timeStamp - typed.at < typingMs && typed.text !== ''
  if (event.key === ' ' && !isMore) return undefined
  typed.text = (isMore ? typed.text : '') + event.key.toLowerCase()
  typed.at = event.timeStamp
  const now = items.indexOf(document.activeElement as HTMLElement)
  const from = isMore ? now : now + 1
  const inTurn = [...items.slice(Math.max(0, from)), ...items.slice(0, Math.max(0, from))]
  return inTurn.find((item) => item.textContent?.trim().toLowerCase().startsWith(typed.text))
}

/**
 * Places the list inside the window: below its button, above it if it does not fit there, or over it if it
 * fits nowhere.
 */
function place(element: HTMLElement, anchor: HTMLElement | null, align: 'left' | 'right'): void {
  const from = anchor?.getBoundingClientRect()
  if (!from) return
  Object.assign(element.style, { left: '0', maxHeight: '' })
  const { width, height } = element.getBoundingClientRect()
  const shown = Math.min(height, innerHeight - 16)
  const isBelow = from.bottom + 4 + shown <= innerHeight - 8
  const wanted = isBelow || from.top - shown - 4 < 8 ? from.bottom + 4 : from.top - shown - 4
  const left = align === 'left' ? from.left : from.right - width
  Object.assign(element.style, {
    maxHeight: `${shown}px`,
    top: `${Math.max(8, Math.min(wanted, innerHeight - shown - 8))}px`,
    left: `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`,
  })
}
