import type { ReactNode, Ref } from 'react'

type Props = { label: string; className?: string; children: ReactNode; ref?: Ref<HTMLDivElement> }

/** A scrollable area inside the page, with a label and reachable by keyboard. */
export function ScrollRegion({ label, className = '', children, ref }: Props) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <div ref={ref} role="group" aria-label={label} tabIndex={0} className={className}>
      {children}
    </div>
  )
}
