import type { Round } from '@parley/protocol'
import { useState } from 'react'
import { useAgentNames } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { ConsequencesDialog } from '../parts/consequences-dialog.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { attemptName, pickConsequences } from './round.logic.ts'

type Props = { round: Round; chosen: number; onDone: () => void; onClose: () => void }

/** Says what happens to the other attempts, and picks the chosen attempt. */
export function PickDialog({ round, chosen, onDone, onClose }: Props) {
  const [isBusy, setBusy] = useState(false)
  const agentName = useAgentNames()
  const attempt = round.attempts.find((one) => one.attempt === chosen)
  if (!attempt) return null
  const pick = async () => {
    setBusy(true)
    try {
      await client.command(attempt.sessionId, { type: 'attempt.pick' })
      toast(`Picked attempt ${chosen}`)
      onDone()
      onClose()
    } catch (thrown) {
      toastError(thrown)
      setBusy(false)
    }
  }
  return (
    <ConsequencesDialog
      label={`Pick attempt ${chosen}`}
      heading={`Pick attempt ${attemptName(attempt, agentName(attempt.agent))}?`}
      consequences={pickConsequences(round, chosen)}
      action={`Pick attempt ${chosen}`}
      isBusy={isBusy}
      onConfirm={() => void pick()}
      onClose={onClose}
    />
  )
}
