import type { AgentOutput } from '@parley/adapter-kit'
import { requestsOfTurn } from './end-turn.ts'
import type { SessionContext } from './session-services.ts'
import { takeUp } from './turn-transactions.ts'

/**
 * The steered prompts of an agent that accepts them but does not report when it takes them up. A prompt counts as
 * taken up at once, unless a request is open. While a request is open, the agent waits and would lose the prompt if
 * its process ended, so the prompt counts as taken up only when the agent continues.
 */
export type AcceptedSteers = {
  accept(promptId: string): Promise<void>
  /**
   * Call this before an output is recorded. If the output shows that prompts were taken up, records `prompt.taken`;
   * the promise resolves when that is stored. Otherwise returns undefined.
   */
  before(output: AgentOutput): Promise<void> | undefined
  forget(): void
}

export function createAcceptedSteers({ log, persist }: SessionContext): AcceptedSteers {
  let waiting: string[] = []
  const isAsked = () => requestsOfTurn(log.state).length > 0

  async function takeUpAll(): Promise<void> {
    for (const promptId of waiting.splice(0)) await persist((state) => takeUp(state, promptId))
  }

  return {
    async accept(promptId) {
      if (isAsked()) waiting.push(promptId)
      else await persist((state) => takeUp(state, promptId))
    },
    before(output) {
      if (waiting.length === 0 || (isAsked() && output.type !== 'turn.ended')) return undefined
      return takeUpAll()
    },
    forget() {
      waiting = []
    },
  }
}
