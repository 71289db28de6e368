import type { ReactNode } from 'react'
import { focusSearch } from '../base/focus.ts'
import { currentRoute } from '../base/route.ts'
import { Link } from './link.tsx'

/** A page that shows only an error. */
export function Problem({ title, text, children }: { title: string; text: string; children?: ReactNode }) {
  return (
    <div className="flex h-full items-center justify-center p-6">
      <div className="max-w-md">
        <h1 className="pb-1 text-title font-semibold">{title}</h1>
        <p className="text-sm [overflow-wrap:anywhere] whitespace-pre-wrap text-soft">{text}</p>
        {children}
      </div>
    </div>
  )
}

/** The link back to the session list. On a phone the list is a page; elsewhere it is already visible. */
export function AllSessions() {
  return (
    <Link
      to={{ name: 'home' }}
      // Deferred: the new page focuses the prompt field when it mounts, and the search field gets the focus after that.
      onClick={() => setTimeout(() => currentRoute().name === 'home' && focusSearch())}
      className="mt-3 inline-flex items-center rounded text-sm text-mark hover:underline pointer-coarse:min-h-11"
    >
      All sessions
    </Link>
  )
}
