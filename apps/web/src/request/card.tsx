import { type KeyboardEvent, type MouseEvent, type ReactNode, useEffect, useEffectEvent, useRef } from 'react'
import { isFilledField, useFocusFallback, wasTyping } from '../base/focus.ts'
import { isAccidentalPress, registerCard } from './card-keys.ts'

type Props = {
  label: string
  takesFocus: boolean
  /** Returns true if it used the key. */
  onKey: (key: string) => boolean
  children: ReactNode
}

/**
 * The frame of a request. It takes the focus unless the person is typing. The digits of the first card work wherever
 * the focus is.
 */
export function Card({ label, takesFocus, onKey, children }: Props) {
  const card = useRef<HTMLElement>(null)
  const answer = useEffectEvent(onKey)
  useEffect(() => (card.current ? registerCard(card.current, answer) : undefined), [])
  useFocusFallback(card)
  useEffect(() => {
    const focused = document.activeElement
    const busy = isFilledField(focused) || wasTyping() || focused?.closest('[data-testid=request]')
    if (takesFocus && !busy && !document.querySelector('dialog[open]'))
      card.current?.focus({ preventScroll: true })
  }, [takesFocus])
  /** Ignores a button press by the second click of a double click, or on a card that has just appeared under the pointer. */
  const click = (event: MouseEvent) => {
    const isBlind =
      event.detail > 1 || (event.detail > 0 && isAccidentalPress(event.nativeEvent as PointerEvent))
    if (!isBlind || !(event.target as HTMLElement).closest('button')) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section
      ref={card}
      aria-label={label}
      tabIndex={-1}
      onClickCapture={click}
      data-testid="request"
      data-first={takesFocus || undefined}
      className="rounded-xl border border-wait-line [&:not([data-first]):not(:focus-within)_kbd]:hidden bg-card shadow-md outline-none focus:border-wait-fill focus:ring-2 focus:ring-wait-fill/40"
    >
      {children}
    </section>
  )
}

/** Moves the focus from a field that disappears to its card, so that the card's keys work at once. */
export function focusCard(inside: Element): void {
  inside.closest<HTMLElement>('[data-testid=request]')?.focus({ preventScroll: true })
}

/** Escape closes the field only; it must not stop the turn. */
export function closeOnEscape(event: KeyboardEvent, close: () => void): void {
  if (event.key !== 'Escape' || event.nativeEvent.isComposing) return
  event.preventDefault()
  event.stopPropagation()
  focusCard(event.currentTarget)
  close()
}
