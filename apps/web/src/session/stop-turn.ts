import { ParleyError } from '@parley/protocol'
import { client } from '../page/client.ts'
import { toast, toastError } from '../page/toasts.tsx'
import { useSessionId, useStatePart } from './session-context.tsx'

/** The last turn whose stopping was told of: who asks for it twice is told once. */
let told: string | undefined

/**
 * Stops the turn that is shown, and no other: the wish may reach the server late, when the next one runs already. That
 * the turn is over by then is what was wanted.
 */
export function useStopTurn(): () => void {
  const id = useSessionId()
  const turnId = useStatePart((state) => state.turn?.turnId)
  const isQueued = useStatePart((state) => state.queue.length > 0)
  const tell = () => {
    if (!isQueued || told === turnId) return
    told = turnId
    toast('Stopping. Then the next prompt in the queue runs.')
  }
  return () => {
    if (turnId === undefined) return
    client.cancel(id, { turnId }).then(tell, (thrown: unknown) => {
      if (!(thrown instanceof ParleyError && thrown.code === 'conflict')) toastError(thrown)
    })
  }
}
