import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { closeOnEscape, focusCard } from './card.tsx'

type Props = {
  no: string
  reason: string
  sending: boolean
  onWrite: (reason: string) => void
  onBack: () => void
  onDeny: (options: { message?: string; endTurn?: boolean }) => void
}

/** Denies a permission with a reason. */
export function DenyForm({ no, reason, sending, onWrite, onBack, onDeny }: Props) {
  const [endTurn, setEndTurn] = useState(false)
  const message = reason.trim()
  return (
    <form
      className="flex flex-col gap-2 px-3.5 pt-2.5 pb-3"
      onSubmit={(event) => {
        event.preventDefault()
        focusCard(event.currentTarget)
        onDeny({ ...(message && { message }), ...(endTurn && { endTurn }) })
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to give a reason
        autoFocus
        aria-label="Why not, and what to do instead"
        placeholder="Why not, and what to do instead"
        value={reason}
        onChange={(event) => onWrite(event.target.value)}
        onKeyDown={(event) => closeOnEscape(event, onBack)}
        className="field w-full pointer-coarse:py-2.5 pointer-coarse:text-base"
      />
      <div className="flex flex-wrap items-center gap-2">
        <label className="flex items-center gap-1.5 text-sm text-soft">
          <input type="checkbox" checked={endTurn} onChange={(event) => setEndTurn(event.target.checked)} />
          Also stop this turn
        </label>
        <span className="ml-auto flex gap-1">
          <Button
            look="quiet"
            onClick={(event) => {
              focusCard(event.currentTarget)
              onBack()
            }}
          >
            Back
          </Button>
          <Button look="danger" type="submit" disabled={sending}>
            {no}
          </Button>
        </span>
      </div>
    </form>
  )
}
