import type { AgentInfo } from '@parley/protocol'

/** unsure: installed, but it does not report whether it is signed in. unusable: installed, but cannot be used. */
export type AgentReadiness = 'ready' | 'unsure' | 'signed-out' | 'unusable' | 'missing'

export function readinessOf(agent: AgentInfo): AgentReadiness {
  if (!agent.found) return 'missing'
  if (agent.usable === false) return 'unusable'
  if (agent.signedIn === undefined) return 'unsure'
  return agent.signedIn === false ? 'signed-out' : 'ready'
}
