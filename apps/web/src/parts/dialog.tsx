import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { createStore } from '../base/store.ts'
import { DialogToasts } from './toasts.tsx'

type Props = { label: string; onClose: () => void; className?: string; children: ReactNode }

/** The browser's modal dialog: it traps the focus, closes on Escape, and returns the focus. */
export function Dialog({ label, onClose, className = '', children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  // A layout effect closes the dialog before React removes it. The browser cannot return the focus from a removed
  // dialog.
  useLayoutEffect(() => {
    const element = dialog.current
    if (element && !element.open) element.showModal()
    // Focuses the field: the browser focuses the first focusable element, which may be a wrapper of the field.
    element?.querySelector('input')?.focus()
    return () => {
      element?.close()
      refocus(document.activeElement)
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it; the click outside is for the pointer
    <dialog
      ref={dialog}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
      className={`m-auto max-h-[85dvh] w-[min(36rem,calc(100vw-1.5rem))] overflow-hidden rounded-xl border border-edge bg-card p-0 shadow-2xl outline-none ${className}`}
    >
      {children}
      <DialogToasts />
    </dialog>
  )
}

/** Focuses the field again. Chromium returns the focus to a field but not its caret, so typed text would be lost. */
function refocus(field: Element | null): void {
  if (!(field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement)) return
  field.blur()
  field.focus({ preventScroll: true })
}

/** The open page-wide dialog, which works on every route. */
export const pageDialog = createStore<'palette' | 'keys' | undefined>(undefined)
