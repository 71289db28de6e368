import type { Client } from '@parley/client'
import { hasCode, type ToolKind } from '@parley/protocol'
import type { Answerer } from './person.ts'
import { oneLine } from './visible.ts'

export type PolicyOptions = {
  readonly client: Client
  readonly sessionId: string
  readonly decision: 'allow' | 'deny'
  /** True if --on-permission decides, false if nobody can be asked. */
  readonly isFlag: boolean
  /** Called with a one-line message before a permission is decided here. */
  readonly onDecision: (requestId: string, line: string) => void
  /** The answerer of questions: the person at this terminal, if there is one. */
  readonly person?: Answerer | undefined
  /** Called when a question is asked and nobody can answer it. */
  readonly onQuestion: () => void
  readonly onError: (error: unknown) => void
}

/** Decides permissions without asking and prints the decision. Questions cannot be answered this way. */
export function createPolicy(options: PolicyOptions): Answerer {
  const { client, sessionId, decision, person } = options
  const word = decision === 'allow' ? 'allowed' : 'denied'
  const message = options.isFlag
    ? `${word} by --on-permission ${decision}`
    : 'This run cannot ask for permissions: it has no terminal.'

  async function settle(requestId: string): Promise<void> {
    const state = await client.call('getSession', { params: { id: sessionId }, query: { tail: 0 } })
    const request = state.requests.find((open) => open.requestId === requestId)
    if (!request) return
    if (request.type === 'question') return person ? person.requested(requestId) : options.onQuestion()
    const why = options.isFlag ? `--on-permission ${decision}` : nobodyText(request.kind)
    options.onDecision(requestId, `${word} ${oneLine(request.title)}: ${why}`)
    await client.decide(sessionId, requestId, decision, { message })
  }

  return {
    requested(requestId) {
      settle(requestId).catch((thrown: unknown) => {
        if (!hasCode(thrown, 'conflict')) options.onError(thrown)
      })
    },
    resolved: (requestId, outcome) => person?.resolved(requestId, outcome),
    reconnected: () => person?.reconnected(),
  }
}

function nobodyText(kind: ToolKind): string {
  const mode = kind === 'edit' ? 'accept-edits' : 'bypass'
  return `not a terminal; use --on-permission allow, or --mode ${mode}`
}
