import type { AgentInfo } from '@parley/protocol'
import { CopyButton } from '../copy-button.tsx'
import { InstallRow } from './install-button.tsx'
import { nextStep, readinessOf } from './readiness.logic.ts'

/** The label and colour of each readiness, used wherever agents are listed. */
const states = {
  ready: { text: 'Ready', look: 'bg-good' },
  unsure: { text: 'Installed, sign-in unknown', look: 'bg-edge' },
  'signed-out': { text: 'Not signed in', look: 'bg-wait-fill' },
  unusable: { text: 'Cannot be used', look: 'bg-wait-fill' },
  missing: { text: 'Not installed', look: 'bg-edge' },
}

export function AgentState({ agent }: { agent: AgentInfo }) {
  const { text, look } = states[readinessOf(agent)]
  return (
    <span className="flex shrink-0 items-center gap-1.5 text-xs font-normal text-soft">
      <span className={`size-2 rounded-full ${look}`} aria-hidden />
      {text}
    </span>
  )
}

/** The step that makes the agent usable, with the install button or the command to type. */
export function AgentNextStep({ agent }: { agent: AgentInfo }) {
  const step = nextStep(agent)
  if (step === 'install') return <InstallRow agent={agent} />
  if (!step) return null
  const { text, command } = step
  return (
    <p className="flex items-center gap-2 border-t border-line px-3 py-1.5 text-xs text-soft">
      <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{text}</span>
      {command !== undefined && <CopyButton text={() => command} label={`Copy ${command}`} />}
    </p>
  )
}
