import { ChevronLeft } from 'lucide-react'
import { Link } from './link.tsx'

/** On a phone, where the list of sessions is a page of its own. */
export function BackToSessions() {
  return (
    <Link
      to={{ name: 'home' }}
      aria-label="All sessions"
      className="inline-flex size-11 items-center justify-center rounded-md text-soft md:hidden"
    >
      <ChevronLeft size={20} />
    </Link>
  )
}
