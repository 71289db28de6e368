import type { Client } from '@parley/client'
import { ParleyError } from '@parley/protocol'
import type { Answerer } from './person.ts'

export type PolicyOptions = {
  readonly client: Client
  readonly sessionId: string
  readonly decision: 'allow' | 'deny'
  readonly say: (line: string) => void
  /** A question came that only a person can answer. */
  readonly onQuestion: () => void
  readonly onError: (error: unknown) => void
}

/** Answers permissions when nobody is there to ask, and says so. Questions have no such answer. */
export function createPolicy(options: PolicyOptions): Answerer {
  const { client, sessionId, decision, say } = options

  async function settle(requestId: string): Promise<void> {
    const state = await client.call('getSession', { params: { id: sessionId }, query: { tail: 0 } })
    const request = state.requests.find((open) => open.requestId === requestId)
    if (!request) return
    if (request.type === 'question') return options.onQuestion()
    const word = decision === 'allow' ? 'Allowed' : 'Denied'
    say(`${word} without asking (--on-permission ${decision}): ${request.kind} ${request.title}`)
    const message = 'Nobody is there to ask: this run does not ask for permissions.'
    await client.decide(sessionId, requestId, decision, decision === 'deny' ? { message } : {})
  }

  return {
    requested(requestId) {
      settle(requestId).catch((thrown: unknown) => {
        if (!(thrown instanceof ParleyError) || thrown.code !== 'conflict') options.onError(thrown)
      })
    },
    resolved() {},
  }
}
