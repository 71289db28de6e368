import type { BlockOf } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { useAgent, useAgentName } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { navigate } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { ConsequencesDialog, turnRuns } from '../parts/consequences-dialog.tsx'
import { toastError } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'

type Props = { prompt: BlockOf<'prompt'>; onClose: () => void }

/**
 * Describes a fork before this prompt, and creates it. The new session opens with the prompt in its message
 * field.
 */
export default function ForkDialog({ prompt, onClose }: Props) {
  const id = useSessionId()
  const agentId = useSessionState((state) => state.agent)
  const agent = useAgentName(agentId)
  const canLeave = useAgent(agentId)?.capabilities.forkElsewhere === true
  const decides = useMay('decide')
  const offersWorktree = useWorktreeOffer(canLeave && decides)
  const [apart, setApart] = useState(false)
  const isBusy = useSessionState((state) => state.turn !== undefined)
  const [isForking, setForking] = useState(false)
  const fork = async () => {
    setForking(true)
    try {
      const { sessionId } = await client.fork(id, { before: prompt.id, ...(apart && { worktree: {} }) })
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
        apart
          ? 'The new session works in a new worktree, on a branch of its own, with the files as they were before this prompt. Ignored files are not among them. No file of this session changes.'
          : 'No file changes: both sessions work in the same folder, as it is now.',
      ]}
      obstacle={isBusy ? turnRuns : undefined}
      action="Fork"
      isBusy={isForking}
      onConfirm={() => void fork()}
      onClose={onClose}
    >
      {offersWorktree && (
        <label className="mt-3 flex min-h-6 items-center gap-1.5 pointer-coarse:min-h-11">
          <input
            type="checkbox"
            checked={apart}
            onChange={({ target }) => setApart(target.checked)}
            className="accent-mark-fill"
          />
          In a worktree, with the files as they were before this prompt
        </label>
      )}
    </ConsequencesDialog>
  )
}

/** Whether a worktree can be made of the repository of the session's folder. */
function useWorktreeOffer(isWanted: boolean): boolean {
  const cwd = useSessionState((state) => state.cwd)
  const [isOffered, setOffered] = useState(false)
  useEffect(() => {
    if (!isWanted) return undefined
    return abortable((signal) =>
      client.call('offerWorktree', { query: { cwd }, signal }).then(
        ({ refused }) => signal.aborted || setOffered(refused === undefined),
        () => {},
      ),
    )
  }, [cwd, isWanted])
  return isOffered
}
