import { ChevronLeft } from 'lucide-react'
import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import { addressOf, type Route } from '../base/route.logic.ts'
import { navigate } from '../base/route.ts'

type Props = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly to: Route }

/** A link inside the page. The browser handles a click with a modifier key. */
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

/** Shown on a phone, where the session list is a page of its own. */
export function BackToSessions({ className }: { readonly className?: string }) {
  return <BackLink to={{ name: 'home' }} label="All sessions" {...(className && { className })} />
}

type BackProps = { readonly to: Route; readonly label: string; readonly className?: string }

/** On a phone, the link from a page back to the list from which the page was opened. */
export function BackLink({ to, label, className = '-ml-3 size-11 shrink-0' }: BackProps) {
  return (
    <Link
      to={to}
      aria-label={label}
      className={`inline-flex items-center justify-center rounded-md text-soft md:hidden ${className}`}
    >
      <ChevronLeft size={20} />
    </Link>
  )
}
