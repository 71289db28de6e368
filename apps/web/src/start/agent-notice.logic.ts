import type { AgentInfo } from '@parley/protocol'
import { readinessOf } from '../parts/agents/readiness.logic.ts'

export type AgentNotice = { readonly agent: AgentInfo; readonly text: string }

/**
 * The reason why a session with the wanted agent cannot start, shown before the person writes a prompt.
 * `wanted` is the agent that the person chose or used last; `chosen` is the agent that the session would use.
 */
export function agentNotice(
  agents: readonly AgentInfo[],
  wanted: string | undefined,
  chosen: AgentInfo | undefined,
): AgentNotice | undefined {
  const meant = agents.find(({ id }) => id === wanted) ?? chosen
  if (!meant) return undefined
  const instead = chosen && chosen.id !== meant.id ? ` ${chosen.name} is selected instead.` : ''
  const text = {
    missing: `${meant.name} is not installed.${instead}`,
    unusable: `${meant.name} cannot be used.${instead}`,
    'signed-out': `${meant.name} is not signed in.${instead}`,
    unsure: undefined,
    ready: undefined,
  }[readinessOf(meant)]
  if (text === undefined) return undefined
  return { agent: meant, text }
}

/** The wanted agent, otherwise the first agent that is ready, otherwise the first that is installed. */
export function pickAgent(agents: readonly AgentInfo[], wanted: string | undefined): AgentInfo | undefined {
  return (
    agents.find((agent) => agent.id === wanted && agent.found) ??
    agents.find((agent) => readinessOf(agent) === 'ready') ??
    agents.find((agent) => agent.found)
  )
}
