import { type ReactNode, useLayoutEffect, useRef } from 'react'

/** The browser's own dialog: it holds the focus, closes on Escape, and gives the focus back. */
export function Dialog({
  label,
  onClose,
  className = '',
  children,
}: {
  label: string
  onClose: () => void
  className?: string
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before it leaves the page, or the focus has nowhere to go back to.
  useLayoutEffect(() => {
    const element = dialog.current
    if (element && !element.open) element.showModal()
    // The browser would focus the first thing that can have the focus, which may be a frame around the field.
    element?.querySelector('input')?.focus()
    return () => {
      element?.close()
      focusAnew(document.activeElement)
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
    </dialog>
  )
}

/** Chromium gives a field its focus back without the caret: what is typed then would go nowhere. */
function focusAnew(field: Element | null): void {
  if (!(field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement)) return
  field.blur()
  field.focus({ preventScroll: true })
}
