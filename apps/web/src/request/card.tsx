import { type KeyboardEvent, type MouseEvent, type ReactNode, useEffect, useRef } from 'react'

/** After a card took the focus, keys that were meant for something else must not answer it. */
const deafMs = 350

/** The frame of a request. It takes the focus where nobody is typing, so that its keys work at once. */
export function Card({
  label,
  takesFocus,
  onKey,
  children,
}: {
  label: string
  takesFocus: boolean
  /** True if the key was used. */
  onKey: (key: string) => boolean
  children: ReactNode
}) {
  const card = useRef<HTMLElement>(null)
  const since = useRef(0)
  useEffect(() => {
    since.current = performance.now()
    const typing = document.activeElement
    const busy = isEditable(typing) && (typing as HTMLTextAreaElement).value !== ''
    if (takesFocus && !busy && !document.querySelector('dialog[open]'))
      card.current?.focus({ preventScroll: true })
  }, [takesFocus])
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target)) return
    if (performance.now() - since.current < deafMs) return
    if (onKey(event.key)) event.preventDefault()
  }
  /** The second click of a double one may land on the next card, which nobody has read yet. */
  const click = (event: MouseEvent) => {
    if (event.detail < 2 || !(event.target as HTMLElement).closest('button')) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section
      ref={card}
      aria-label={label}
      tabIndex={-1}
      onKeyDown={press}
      onClickCapture={click}
      data-testid="request"
      className="rounded-xl border border-wait-line bg-card shadow-md outline-none focus:border-wait-fill focus:ring-2 focus:ring-wait-fill/40"
    >
      {children}
    </section>
  )
}

/** Back to the card from a field of it that goes away: its keys work at once. */
export function focusCard(inside: Element): void {
  inside.closest<HTMLElement>('[data-testid=request]')?.focus({ preventScroll: true })
}

export function isEditable(target: unknown): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type)
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  )
}
