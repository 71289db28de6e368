import { visible } from '../base/format.logic.ts'

/** Says when an answer takes effect if the machine of the session is away. */
export function AwaitedNote({ machine }: { machine: string | undefined }) {
  if (machine === undefined) return null
  return (
    <p className="shrink-0 px-3.5 pt-2 text-xs text-pretty text-wait [overflow-wrap:anywhere]">
      No server runs on {visible(machine)} now. Your answer is kept, and carried out when {visible(machine)}{' '}
      is back.
    </p>
  )
}
