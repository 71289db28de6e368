import type { Changes } from '@parley/protocol'
import { useId } from 'react'
import { useNow } from '../base/clock.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { setComparison, useComparison } from '../session-data/shown-changes.ts'
import { comparedText, comparisonNotes, scopeNames, scopes } from './compared-text.logic.ts'

const questions = {
  turn: 'What did this turn do?',
  session: 'What changed since the session began?',
  commit: 'What is not committed?',
  base: 'What would a pull request contain?',
}

/**
 * The menu of scopes, with a sentence that says what is compared. `changes` is undefined until they are
 * loaded.
 */
export function ScopeChoice({ changes }: { changes: Changes | undefined }) {
  const sessionId = useSessionId()
  const { scope } = useComparison()
  const name = useId()
  const now = useNow()
  const compared = changes?.compared
  const shown = compared?.scope === scope ? changes : undefined
  return (
    <div className="flex flex-col gap-1.5 border-b border-line px-4 py-2">
      <fieldset className="flex w-fit max-w-full rounded-lg border border-edge bg-sunk p-0.5">
        <legend className="sr-only">Compare</legend>
        {scopes.map((one) => (
          <label
            key={one}
            title={questions[one]}
            className="relative flex min-h-6 items-center rounded-md px-2 text-xs text-soft hover:text-ink has-checked:bg-card has-checked:font-medium has-checked:text-ink has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-mark pointer-coarse:min-h-10 pointer-coarse:px-2.5"
          >
            <input
              type="radio"
              name={name}
              className="absolute inset-0 cursor-pointer opacity-0"
              checked={one === scope}
              onChange={() => setComparison(sessionId, { scope: one })}
            />
            {scopeNames[one]}
          </label>
        ))}
      </fieldset>
      {shown && compared && (
        <div role="status" className="text-xs text-soft [overflow-wrap:anywhere]">
          <p>{comparedText(shown, now)}</p>
          {comparisonNotes(compared).map((note) => (
            <p key={note} className="pt-1 text-wait">
              {note}
            </p>
          ))}
        </div>
      )}
    </div>
  )
}
