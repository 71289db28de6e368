import type { ComponentProps } from 'react'

/** A scrollable area inside the page, with a label and reachable by keyboard. */
export function ScrollRegion({ label, ...rest }: ComponentProps<'div'> & { label: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <div role="group" aria-label={label} tabIndex={0} {...rest} />
  )
}
