import type { AgentInfo, PermissionMode } from '@parley/protocol'
import type { ChosenAttempt } from '../session-data/new-session.ts'

export type Attempt = ChosenAttempt & { readonly agent: string }

/**
 * The attempts of a new round. An attempt without a chosen agent gets the agent of the page, then agents that no other
 * attempt has, and then the agent of the page again, because several models can be tried too.
 */
export function attemptsOf(
  chosen: readonly ChosenAttempt[],
  agents: readonly AgentInfo[],
  first: string,
): Attempt[] {
  const taken = new Set(chosen.map(({ agent }) => agent))
  const usable = agents.filter(
    ({ found, usable, signedIn }) => found && usable !== false && signedIn !== false,
  )
  const free = [...new Set([first, ...usable.map(({ id }) => id)])].filter((id) => !taken.has(id))
  return chosen.map(({ agent, ...rest }) => ({ ...rest, agent: agent ?? free.shift() ?? first }))
}

/** The modes that all agents of the attempts offer. */
export function sharedModes(
  attempts: readonly Attempt[],
  agents: readonly AgentInfo[],
): readonly PermissionMode[] {
  const offered = attempts.flatMap(({ agent }) => agents.find(({ id }) => id === agent)?.modes.slice(0) ?? [])
  const counts = Map.groupBy(offered, (mode) => mode)
  return [...counts].flatMap(([mode, its]) => (its.length === attempts.length ? [mode] : []))
}
