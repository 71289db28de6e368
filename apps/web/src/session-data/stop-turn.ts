import { ParleyError } from '@parley/protocol'
import { client } from '../base/client.ts'
import { may } from '../base/self.ts'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from './session-context.tsx'

/**
 * Returns a function that stops the shown turn, but never a later turn: the command may reach the server when
 * the next turn is already running. It is no error if the turn has ended by then. Queued prompts are paused.
 */
export function useStopTurn(): () => void {
  const id = useSessionId()
  const turnId = useSessionState((state) => state.turn?.turnId)
  return () => {
    if (turnId === undefined || !may('prompt')) return
    client.cancel(id, { turnId }).catch(toastUnlessEnded)
  }
}

/** Returns a function that stops one background task, or all of them. It is no error if a task has already ended. */
export function useStopTasks(): (taskId?: string) => void {
  const id = useSessionId()
  return (taskId) => {
    client.stopTasks(id, taskId === undefined ? {} : { taskId }).catch(toastUnlessEnded)
  }
}

function toastUnlessEnded(thrown: unknown): void {
  if (!(thrown instanceof ParleyError && thrown.code === 'conflict')) toastError(thrown)
}
