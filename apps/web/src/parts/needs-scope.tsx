import type { Scope } from '@parley/protocol'

/** Says why something is missing on the page: `what` needs a scope that the person does not have. */
export function NeedsScope({
  what,
  scope,
  className = '',
}: {
  what: string
  scope: Scope
  className?: string
}) {
  return (
    <p className={`text-sm text-pretty text-soft ${className}`}>
      {what} needs the scope “{scope}”, which you do not have. An administrator of this server can give it.
    </p>
  )
}
