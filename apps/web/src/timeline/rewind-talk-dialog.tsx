import type { BlockOf } from '@parley/protocol'
import { useState } from 'react'
import { useAgentName } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { plural } from '../base/format.logic.ts'
import { toast, toastError } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { ConsequencesDialog, turnRuns } from './consequences-dialog.tsx'
import { turnsSince } from './turn-end.logic.ts'

type Props = { prompt: BlockOf<'prompt'>; onClose: () => void }

/** Says what a rewind of the conversation does, and makes it. */
export default function RewindTalkDialog({ prompt, onClose }: Props) {
  const id = useSessionId()
  const agent = useAgentName(useSessionState((state) => state.agent))
  const isBusy = useSessionState((state) => state.turn !== undefined)
  const turns = useSnapshot(({ view }) => turnsSince(view.timeline, prompt))
  const [isRewinding, setRewinding] = useState(false)
  const undo = () => void client.command(id, { type: 'session.unrewind' }).catch(toastError)
  const rewind = async () => {
    setRewinding(true)
    try {
      await client.command(id, { type: 'session.rewind', promptId: prompt.id, files: false, talk: true })
      const draft = draftOf(id)
      if (draft.text.get() === '' && draft.attachments.get().length === 0) draft.putBack(prompt.parts)
      onClose()
      toast(`Took ${plural(turns, 'turn')} back.`, { action: { label: 'Undo', run: undo } })
    } catch (thrown) {
      setRewinding(false)
      toastError(thrown)
    }
  }
  return (
    <ConsequencesDialog
      label="Rewind to here"
      heading="Rewind the conversation to this prompt?"
      consequences={[
        `${agent} forgets this prompt and everything after it: ${plural(turns, 'turn')}.`,
        'They stay in the session, marked as taken back.',
        'The prompt is put into the message field if that is empty; nothing is sent yet.',
        'No file changes. What commands did outside the folder stays done.',
        'You can undo this until the next prompt is sent.',
      ]}
      obstacle={isBusy ? turnRuns : undefined}
      action="Rewind"
      isBusy={isRewinding}
      onConfirm={() => void rewind()}
      onClose={onClose}
    />
  )
}
