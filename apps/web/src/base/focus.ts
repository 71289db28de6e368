import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'

/**
 * True if there is a hardware keyboard. On a touch device Enter inserts a line break, and focusing a field opens the
 * on-screen keyboard.
 */
export const hasKeyboard = () => !matchMedia('(pointer: coarse)').matches

export const lacksFocus = () => document.activeElement === null || document.activeElement === document.body

/**
 * Focuses the search field of the session list, except on touch devices, where the on-screen keyboard would cover the
 * list.
 */
export function focusSearch(): void {
  if (!hasKeyboard()) return
  document.querySelector<HTMLElement>('nav input[type=search]')?.focus()
}

/** The prompt field of the session page or of the page for a new session. */
const promptField = () => document.querySelector<HTMLTextAreaElement>('main textarea[aria-label=Prompt]')

export function focusPrompt(): void {
  promptField()?.focus()
}

export function focusAtEnd(field: HTMLTextAreaElement | null): void {
  field?.focus({ preventScroll: true })
  field?.setSelectionRange(field.value.length, field.value.length)
}

/**
 * Focuses the prompt field. Focuses the main area instead if there is no prompt field, or on a touch device, where
 * the keyboard would open.
 */
export function focusMain(): void {
  const prompt = promptField()
  const place = prompt && hasKeyboard() ? prompt : document.querySelector<HTMLElement>('main')
  place?.focus({ preventScroll: true })
}

/** Moves the focus to `to` when `open` becomes false and nothing else has the focus. */
export function useFocusBack(open: boolean, to: () => HTMLElement | null | undefined): void {
  const was = useRef(open)
  useEffect(() => {
    if (was.current && !open && lacksFocus()) to()?.focus({ preventScroll: true })
    was.current = open
  })
}

let leftWritingAt = Number.NEGATIVE_INFINITY
const writingMs = 1500

/**
 * True shortly after a focused editable field was removed: the next focused element must not receive the keys that
 * the person is still typing.
 */
export const wasTyping = () => performance.now() < leftWritingAt + writingMs

/**
 * If the part is removed while it contains the focus, moves the focus to the main area, unless the part's replacement
 * takes the focus first.
 */
export function useFocusFallback(part: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = part.current
    return () => {
      if (!element?.contains(document.activeElement)) return
      if (isEditable(document.activeElement)) leftWritingAt = performance.now()
      // Waits, so that the replacement can take the focus first.
      requestAnimationFrame(() => setTimeout(() => lacksFocus() && focusMain()))
    }
  }, [part])
}

export function isFilledField(target: unknown): boolean {
  return isEditable(target) && (target as Partial<HTMLTextAreaElement>).value !== ''
}

export function isEditable(target: unknown): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type)
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  )
}

let claim = ''

/** Lets a part that loads later take the focus, until the person presses a key or clicks somewhere else. */
export function claimFocus(part: string): void {
  claim = part
  addEventListener('keydown', forgetClaim, true)
  addEventListener('pointerdown', forgetClaim, true)
}

/**
 * Ends the claim, except for a key press on a button in a panel: that key is meant for the part that the button opens.
 */
function forgetClaim({ type, target }: Event): void {
  if (type === 'keydown' && target instanceof Element && target.closest('aside button')) return
  claim = ''
}

export const hasFocusClaim = (part: string) => claim === part
