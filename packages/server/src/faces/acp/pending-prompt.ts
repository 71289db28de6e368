import { type PromptResponse, RequestError } from '@agentclientprotocol/sdk/unstable'
import { hasCode, newId, type SessionState } from '@parley/protocol'
import type { Access } from './access.ts'

/** A prompt of the editor whose turn has not ended. */
export type PendingPrompt = {
  readonly messageId: string
  readonly response: PromiseWithResolvers<PromptResponse>
  promptId?: string
  turnId?: string
  submitted: boolean
  /** Whether the current server has the prompt. */
  delivered: boolean
  cancelled: boolean
}

export function createPending(): PendingPrompt {
  const response = Promise.withResolvers<PromptResponse>()
  response.promise.catch(() => undefined)
  return { messageId: newId('cmd'), response, submitted: false, delivered: false, cancelled: false }
}

type StoppingOptions = {
  readonly access: Access
  readonly state: Pick<SessionState, 'id'>
  problem(thrown: unknown, doing: string): void
}

/** Stops turns and withdraws prompts of one session. */
export function createStopping({ access, state, problem }: StoppingOptions) {
  /**
   * Sends a command and reports its failure. Ignores the errors `conflict` and `not_found`: either the prompt or turn
   * is over, or the turn has just started and is cancelled when its start event arrives.
   */
  async function attempt(
    doing: string,
    command: { type: 'turn.cancel'; turnId?: string } | { type: 'prompt.withdraw'; promptId: string },
  ): Promise<void> {
    try {
      await access.command(state.id, { ...command, commandId: newId('cmd') })
    } catch (thrown) {
      if (!hasCode(thrown, 'conflict', 'not_found')) problem(thrown, doing)
    }
  }
  const cancelTurn = (turnId: string | undefined) =>
    attempt('cancel a turn', { type: 'turn.cancel', ...(turnId !== undefined && { turnId }) })

  return {
    cancelTurn,
    async stop({ promptId, turnId }: PendingPrompt): Promise<void> {
      if (turnId !== undefined) return cancelTurn(turnId)
      if (promptId !== undefined) await attempt('withdraw a prompt', { type: 'prompt.withdraw', promptId })
    },
  }
}

const requestCancelled = -32_800

/** Whether the abort happened because the editor cancelled its request. A lost connection does not cancel the turn. */
export function isRequestCancelled(reason: unknown): boolean {
  return reason instanceof RequestError && reason.code === requestCancelled
}
