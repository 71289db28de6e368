import { ChevronLeft } from 'lucide-react'
import { Link } from './link.tsx'

/** Shown on a phone, where the session list is a page of its own. */
export function BackToSessions() {
  return (
    <Link
      to={{ name: 'home' }}
      aria-label="All sessions"
      className="-ml-3 inline-flex size-11 shrink-0 items-center justify-center rounded-md text-soft md:hidden"
    >
      <ChevronLeft size={20} />
    </Link>
  )
}
