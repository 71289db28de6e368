import type { UnrecognisedMessages } from '@parley/protocol'
import { plural, timeOf, visible } from '../base/format.logic.ts'

/** The messages of an agent that were not understood, and what to do. */
export function MessagesNote({ unrecognised }: { unrecognised: UnrecognisedMessages }) {
  const { count, since, kinds } = unrecognised
  const were = count === 1 ? 'was' : 'were'
  return (
    <details className="pt-1 text-xs text-soft">
      <summary className="w-fit rounded hover:text-ink pointer-coarse:py-3.5">
        <span className="mr-1.5 inline-block size-2 rounded-full bg-wait-fill" aria-hidden />
        {plural(count, 'message')} of this agent {were} not understood since {timeOf(since, Date.now())}
      </summary>
      <ul className="pt-1">
        {kinds.map((one) => (
          <li key={one.kind} className="[overflow-wrap:anywhere]">
            {one.count} × {visible(one.kind)}
          </li>
        ))}
      </ul>
      <p className="pt-1 text-pretty">
        The log of each session contains these messages. Update Parley. If it is up to date, report them as a
        bug of Parley.
      </p>
    </details>
  )
}
