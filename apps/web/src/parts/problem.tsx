import type { ReactNode } from 'react'
import { focusSearch } from '../page/focus.ts'
import { Link } from './link.tsx'

/** When there is nothing to show but why. */
export function Problem({ title, text, children }: { title: string; text: string; children?: ReactNode }) {
  return (
    <div className="flex h-full items-center justify-center p-6">
      <div className="max-w-md">
        <h1 className="pb-1 text-lg font-semibold">{title}</h1>
        <p className="text-sm [overflow-wrap:anywhere] whitespace-pre-wrap text-soft">{text}</p>
        {children}
      </div>
    </div>
  )
}

/** The way back from where there is nothing. On a phone the list is a page; elsewhere it is there already. */
export function AllSessions() {
  return (
    <Link
      to={{ name: 'home' }}
      // After the page that comes instead, which takes the focus to where one writes.
      onClick={() => setTimeout(() => location.pathname === '/' && focusSearch())}
      className="mt-3 inline-flex items-center rounded text-sm text-mark hover:underline pointer-coarse:min-h-11"
    >
      All sessions
    </Link>
  )
}
