import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'
import { promptField } from '../composer/focus-prompt.ts'

export const lacksFocus = () => document.activeElement === null || document.activeElement === document.body

/** The way into the list of sessions. By touch not: that raises the keyboard over what one came to see. */
export function focusSearch(): void {
  if (matchMedia('(pointer: coarse)').matches) return
  document.querySelector<HTMLElement>('nav input[type=search]')?.focus()
}

/** To where one goes on after what had the focus is gone. On a phone not where one writes: that raises the keyboard. */
export function focusPlace(): void {
  const prompt = promptField()
  const touched = matchMedia('(pointer: coarse)').matches
  const place = prompt && !touched ? prompt : document.querySelector<HTMLElement>('main')
  place?.focus({ preventScroll: true })
}

/** When something that had the focus is over, it goes back to where that was begun. */
export function useFocusBack(open: boolean, to: () => HTMLElement | null | undefined): void {
  const was = useRef(open)
  useEffect(() => {
    if (was.current && !open && lacksFocus()) to()?.focus({ preventScroll: true })
    was.current = open
  })
}

let leftWritingAt = Number.NEGATIVE_INFINITY
const writingMs = 1500

/** A field that somebody wrote in has gone away under them: what comes next must not get their words. */
export const wasWriting = () => performance.now() < leftWritingAt + writingMs

/** What goes away with the focus in it leaves it to what comes in its place, else to the place around. */
export function useFocusLeft(part: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = part.current
    return () => {
      if (!element?.contains(document.activeElement)) return
      if (isEditable(document.activeElement)) leftWritingAt = performance.now()
      // After what comes in its place has had its turn.
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
