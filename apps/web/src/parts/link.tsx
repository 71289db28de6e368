import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import { addressOf, type Route } from '../base/route.logic.ts'
import { navigate } from '../base/route.ts'

type Props = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly to: Route }

/** A link inside the page. With a modifier key the browser handles it. */
export function Link({ to, onClick, ...rest }: Props) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to)
  }
  return <a {...rest} href={addressOf(to)} onClick={follow} />
}
