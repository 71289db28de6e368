import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'
import { promptField } from './focus-prompt.ts'

export const lacksFocus = () => document.activeElement === null || document.activeElement === document.body

/** Focuses the search field of the session list. Not on touch devices, where the keyboard would cover the list. */
export function focusSearch(): void {
  if (matchMedia('(pointer: coarse)').matches) return
  document.querySelector<HTMLElement>('nav input[type=search]')?.focus()
}

/** Focuses the prompt field, or the main area if there is none or on touch devices, where the keyboard would open. */
export function focusPlace(): void {
  const prompt = promptField()
  const touched = matchMedia('(pointer: coarse)').matches
  const place = prompt && !touched ? prompt : document.querySelector<HTMLElement>('main')
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

/** True shortly after an editable field was removed while it had the focus: the next part must not receive the keys. */
export const wasWriting = () => performance.now() < leftWritingAt + writingMs

/** When the part is removed with the focus in it, its replacement may take the focus; otherwise `focusPlace` does. */
export function useFocusLeft(part: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = part.current
    return () => {
      if (!element?.contains(document.activeElement)) return
      if (isEditable(document.activeElement)) leftWritingAt = performance.now()
      // The replacement takes the focus first, if it wants it.
      requestAnimationFrame(() => setTimeout(() => lacksFocus() && focusPlace()))
    }
  }, [part])
}

export function isWritten(target: unknown): boolean {
  return isEditable(target) && (target as Partial<HTMLTextAreaElement>).value !== ''
}

export function isEditable(target: unknown): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type)
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  )
}
