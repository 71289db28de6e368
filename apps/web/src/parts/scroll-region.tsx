import type { ReactNode, Ref } from 'react'

/** Something that scrolls inside the page: named, and within reach of the keyboard. */
export function ScrollRegion({
  label,
  className = '',
  children,
  ref,
}: {
  label: string
  className?: string
  children: ReactNode
  ref?: Ref<HTMLDivElement>
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={ref} role="group" aria-label={label} tabIndex={0} className={className}>
      {children}
    </div>
  )
}
