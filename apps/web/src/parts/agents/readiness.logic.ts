import type { AgentInfo } from '@parley/protocol'

/** unsure: installed, but it does not report whether it is signed in. unusable: installed, but cannot be used. */
type AgentReadiness = 'ready' | 'unsure' | 'signed-out' | 'unusable' | 'missing'

export function readinessOf(agent: AgentInfo): AgentReadiness {
  if (!agent.found) return 'missing'
  if (agent.usable === false) return 'unusable'
  if (agent.signedIn === undefined) return 'unsure'
  return agent.signedIn === false ? 'signed-out' : 'ready'
}

/** `install`: show the install button. Otherwise a text, with the command to type if a single command is enough. */
type NextStep = 'install' | { readonly text: string; readonly command?: string }

const defaultHints = {
  missing: 'Install it on the server’s machine, then refresh.',
  unusable: 'Update it on the server’s machine, then refresh.',
  'signed-out': 'Sign in with the agent’s command-line program on the server’s machine, then refresh.',
}

/** The step that makes an agent usable: the hint of the probe or, without a hint, a default text. */
export function nextStep(agent: AgentInfo): NextStep | undefined {
  const readiness = readinessOf(agent)
  if (agent.installing || (readiness === 'missing' && agent.install)) return 'install'
  if (readiness === 'ready') return undefined
  const text = agent.hint ?? (readiness === 'unsure' ? undefined : defaultHints[readiness])
  return text === undefined ? undefined : { text, ...(agent.command && { command: agent.command }) }
}
