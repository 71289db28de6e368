import type { SessionState } from '@parley/protocol'
import type { AgentOutput } from './agent-adapter.ts'
import { requestsOfTurn } from './end-turn.ts'

/**
 * Steered prompts that an agent accepted which does not tell when it takes them up. They count as taken up at once, unless a
 * person is asked: then the agent waits, and would lose them with its process. They count once it goes on.
 */
export type AcceptedSteers = {
  accept(promptId: string): Promise<void>
  /** To be called before an output is taken. Resolves when what it shows to be taken up is recorded; nothing if there is none. */
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
