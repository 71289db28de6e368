import { CloudOff, Hand, Send } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { lacksFocus, useFocusFallback } from '../base/focus.ts'
import { Button } from '../parts/button.tsx'
import type { GivenAnswer } from './answer-outbox.ts'
import { answers } from './answers.ts'

/** Replaces a card whose answer the server has not accepted yet. Shows the answer and a button to withdraw it. */
export function UnsentAnswer({ answer }: { answer: GivenAnswer }) {
  const { state, asked, said, problem } = answer
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // If the card that this row replaces had the focus, nothing has the focus now.
    if (lacksFocus()) row.current?.focus({ preventScroll: true })
  }, [])
  useFocusFallback(row)
  const Icon = state === 'held' ? Hand : state === 'sent' ? Send : CloudOff
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div
      ref={row}
      role="group"
      tabIndex={-1}
      aria-label={`${titles[state]}: ${said}`}
      data-testid="unsent"
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 rounded-xl border border-dashed border-wait-fill bg-wait-wash px-3.5 py-2 text-sm outline-none"
    >
      <Icon size={16} aria-hidden className="shrink-0 text-wait" />
      <span className="min-w-0 flex-1 basis-56">
        <span className="block">
          <span className="font-semibold text-wait">{titles[state]}:</span>{' '}
          <strong className="font-semibold [overflow-wrap:anywhere]">{said}</strong>
        </span>
        <span className="block truncate text-xs text-soft" title={asked}>
          {asked}
        </span>
        {state !== 'sent' && (
          <span className="block text-xs text-soft">
            {problem ?? 'Your answer is sent when the server is reachable again.'}
          </span>
        )}
      </span>
      {state !== 'sent' && (
        <span className="ml-auto flex gap-2">
          {state === 'held' && (
            <Button look="good" onClick={() => answers.sendHeld(answer.commandId)}>
              Send
            </Button>
          )}
          <Button onClick={() => answers.withdraw(answer.commandId)}>Withdraw</Button>
        </span>
      )}
    </div>
  )
}

const titles = { sending: 'Not sent yet', late: 'Not sent yet', held: 'Not sent', sent: 'Sent' }
