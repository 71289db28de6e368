import type { Attempt, Round } from '@parley/protocol'
import { useId, useState } from 'react'
import { client } from '../base/client.ts'
import { duration, visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { toastError } from '../parts/toasts.tsx'
import { checkableAttempts, checkText } from './round.logic.ts'
import { tones } from './tones.ts'

type Props = { round: Round; attempt: Attempt }

/** The result of the check of an attempt, with its output, and the button that runs it. */
export function AttemptCheck({ round, attempt }: Props) {
  const { check, attempt: number } = attempt
  const [open, setOpen] = useState(false)
  const outputId = useId()
  if (!round.checkable && !check)
    return <span className="text-faint">no command in the project settings</span>
  const { text, tone } = checkText(check)
  const tail = check?.running ? undefined : check?.tail
  return (
    <>
      <span className={tones[tone]}>{text}</span>
      {check?.durationMs !== undefined && !check.running && (
        <span className="text-soft"> in {duration(check.durationMs)}</span>
      )}{' '}
      <RunButton round={round} attempt={attempt} />
      {tail !== undefined && tail !== '' && (
        <SmallButton
          label={`Output of the check of attempt ${number}`}
          isOpen={open}
          controls={outputId}
          onClick={() => setOpen(!open)}
        >
          {open ? 'Hide output' : 'Show output'}
        </SmallButton>
      )}
      {open && tail !== undefined && (
        <ScrollRegion
          id={outputId}
          label={`The end of the output of the check of attempt ${number}`}
          className="mt-1 max-h-48 overflow-auto rounded-md border border-line bg-page px-2 py-1.5 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {visible(tail)}
        </ScrollRegion>
      )}
    </>
  )
}

function RunButton({ round, attempt }: Props) {
  const [decides, prompts] = [useMay('decide'), useMay('prompt')]
  const [isSending, setSending] = useState(false)
  const { check, attempt: number, sessionId } = attempt
  const send = (type: 'check.run' | 'check.stop') => {
    setSending(true)
    client
      .command(sessionId, { type })
      .catch(toastError)
      .finally(() => setSending(false))
  }
  if (check?.running)
    return prompts ? (
      <SmallButton
        label={`Stop the check of attempt ${number}`}
        isOff={isSending}
        onClick={() => send('check.stop')}
      >
        Stop
      </SmallButton>
    ) : null
  if (!decides || !checkableAttempts(round).includes(attempt)) return null
  return (
    <SmallButton
      label={`Run the check of attempt ${number}`}
      isOff={isSending}
      onClick={() => send('check.run')}
    >
      {check ? 'Run again' : 'Run'}
    </SmallButton>
  )
}

type ButtonProps = {
  label: string
  isOff?: boolean
  isOpen?: boolean
  controls?: string
  onClick: () => void
  children: string
}

function SmallButton({ label, isOff = false, isOpen, controls, onClick, children }: ButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-expanded={isOpen}
      aria-controls={isOpen ? controls : undefined}
      disabled={isOff}
      onClick={onClick}
      className="mr-1 rounded px-1 text-xs font-medium text-mark hover:bg-hover disabled:opacity-55 pointer-coarse:min-h-11 pointer-coarse:px-2"
    >
      {children}
    </button>
  )
}
