import type { BlockOf } from '@parley/protocol'
import { useState } from 'react'
import { useAgentName } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { navigate } from '../base/route.ts'
import { toastError } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { ConsequencesDialog, turnRuns } from './consequences-dialog.tsx'

type Props = { prompt: BlockOf<'prompt'>; onClose: () => void }

/**
 * Describes a fork before this prompt, and creates it. The new session opens with the prompt in its message
 * field.
 */
export default function ForkDialog({ prompt, onClose }: Props) {
  const id = useSessionId()
  const agent = useAgentName(useSessionState((state) => state.agent))
  const isBusy = useSessionState((state) => state.turn !== undefined)
  const [isForking, setForking] = useState(false)
  const fork = async () => {
    setForking(true)
    try {
      const { sessionId } = await client.fork(id, { before: prompt.id })
      draftOf(sessionId).putBack(prompt.parts)
      onClose()
      navigate({ name: 'session', id: sessionId })
    } catch (thrown) {
      setForking(false)
      toastError(thrown)
    }
  }
  return (
    <ConsequencesDialog
      label="Fork from here"
      heading="Fork the session from this prompt?"
      consequences={[
        'A new session begins with everything above this prompt.',
        `There, ${agent} remembers what was said above this prompt, and nothing after it.`,
        'The prompt is put into the message field of the new session; nothing is sent yet.',
        'This session does not change.',
        'No file changes: both sessions work in the same folder, as it is now.',
      ]}
      obstacle={isBusy ? turnRuns : undefined}
      action="Fork"
      isBusy={isForking}
      onConfirm={() => void fork()}
      onClose={onClose}
    />
  )
}
