import type { ReactNode } from 'react'
import { errorText, linkCommand } from '../base/error-text.logic.ts'
import { focusSearch } from '../base/focus.ts'
import { CopyButton } from './copy-button.tsx'
import { Link } from './link.tsx'

/** A page that shows only an error. */
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

/** The page of a browser that is not signed in, with the command that prints a sign-in link. */
export function NotSignedIn({ error }: { error: unknown }) {
  const title = 'This browser is not signed in'
  const command = linkCommand(error)
  if (command === undefined) return <Problem title={title} text={error ? errorText(error) : ''} />
  return (
    <Problem
      title={title}
      text="Open the link that the server printed when it started, or print a new one with this command. If the server was started with --data-dir, add the same option."
    >
      <p className="mt-3 flex items-center gap-2 rounded-md bg-sunk py-1 pr-1 pl-2.5">
        <code className="min-w-0 flex-1 font-mono text-sm [overflow-wrap:anywhere]">{command}</code>
        <CopyButton text={() => command} label="Copy command" />
      </p>
    </Problem>
  )
}

/** The link back to the session list. On a phone the list is a page; elsewhere it is already visible. */
export function AllSessions() {
  return (
    <Link
      to={{ name: 'home' }}
      // Deferred: the new page focuses the prompt field when it mounts, and the search field gets the focus after that.
      onClick={() => setTimeout(() => location.pathname === '/' && focusSearch())}
      className="mt-3 inline-flex items-center rounded text-sm text-mark hover:underline pointer-coarse:min-h-11"
    >
      All sessions
    </Link>
  )
}
