import type { AgentInfo } from '@parley/protocol'
import { readinessOf } from './readiness.logic.ts'

/** By the button that installs it, or in words, with what to type where one command does it. */
export type NextStep = 'install' | { readonly text: string; readonly command?: string }

const otherwise = {
  missing: 'Install it on the server’s machine, then refresh.',
  unusable: 'Update it on the server’s machine, then refresh.',
  'signed-out': 'Sign in with its own program, then refresh.',
}

/** What to do so that an agent can be used. Its probe knows best; nobody is left without a next step. */
export function nextStep(agent: AgentInfo): NextStep | undefined {
  const readiness = readinessOf(agent)
  if (agent.installing || (readiness === 'missing' && agent.install)) return 'install'
  if (readiness === 'ready') return undefined
  const text = agent.hint ?? (readiness === 'unsure' ? undefined : otherwise[readiness])
  return text === undefined ? undefined : { text, ...(agent.command && { command: agent.command }) }
}
