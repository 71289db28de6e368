import type { AgentInfo } from '@parley/protocol'

/** unsure: it is there, and does not tell whether it is signed in. unusable: it is there, and cannot be used. */
export type AgentReadiness = 'ready' | 'unsure' | 'signed-out' | 'unusable' | 'missing'

export function readinessOf(agent: AgentInfo): AgentReadiness {
  if (!agent.found) return 'missing'
  if (agent.usable === false) return 'unusable'
  if (agent.signedIn === undefined) return 'unsure'
  return agent.signedIn === false ? 'signed-out' : 'ready'
}
