import type { SessionState } from '@parley/protocol'
import type { AgentOutput } from './agent-adapter.ts'
import { requestsOfTurn } from './end-turn.ts'

/**
 * Steered prompts of an agent that accepts them but does not report when it takes them up. They count as taken up at
 * once, except while a request is open: then the agent waits, and would lose them with its process. In that case they
 * count as taken up when the agent continues.
 */
export type AcceptedSteers = {
  accept(promptId: string): Promise<void>
  /**
   * Call it before an output is recorded. Resolves when the prompts that this output shows to be taken up are
   * recorded; returns undefined if there are none.
   */
  heard(output: AgentOutput): Promise<void> | undefined
  forget(): void
}

export function createAcceptedSteers(options: {
  state: () => SessionState
  take: (promptId: string) => Promise<void>
}): AcceptedSteers {
  const { state, take } = options
  let waiting: string[] = []
  const isAsked = () => requestsOfTurn(state()).length > 0

  async function takeAll(): Promise<void> {
    for (const promptId of waiting.splice(0)) await take(promptId)
  }

  return {
    async accept(promptId) {
      if (isAsked()) waiting.push(promptId)
      else await take(promptId)
    },
    heard(output) {
      if (waiting.length === 0 || (isAsked() && output.type !== 'turn.ended')) return undefined
      return takeAll()
    },
    forget() {
      waiting = []
    },
  }
}
