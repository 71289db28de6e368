import type { AgentInfo, CapabilityName } from '@parley/protocol'
import { RefreshCw } from 'lucide-react'
import { askForAgents, useAgents } from '../page/agents.ts'
import { problemWords } from '../page/problem-words.logic.ts'
import { readinessOf } from '../page/readiness.logic.ts'
import { Button } from '../parts/button.tsx'
import { Hint } from '../start/agent-choice.tsx'
import { InstallRow } from './install-button.tsx'

const states = {
  ready: { text: 'Signed in', look: 'bg-good' },
  unsure: { text: 'Found; whether it is signed in is not known', look: 'bg-edge' },
  'signed-out': { text: 'Not signed in', look: 'bg-wait-fill' },
  unusable: { text: 'Cannot be used as it is', look: 'bg-wait-fill' },
  missing: { text: 'Not found on this machine', look: 'bg-edge' },
}

export function AgentsSection() {
  const { agents, status, error } = useAgents()
  return (
    <section aria-label="Agents" className="flex flex-col gap-3">
      <div className="flex items-center gap-3">
        <p className="flex-1 text-sm text-soft">
          Found by looking, just now, on the machine the server runs on.
        </p>
        <Button onClick={() => void askForAgents()} disabled={status === 'asking'}>
          <RefreshCw size={14} aria-hidden className={status === 'asking' ? 'animate-spin' : ''} /> Look again
        </Button>
      </div>
      {error && <p className="text-sm text-bad">{problemWords(error)}</p>}
      {agents.map((agent) => (
        <AgentCard key={agent.id} agent={agent} />
      ))}
    </section>
  )
}

function AgentCard({ agent }: { agent: AgentInfo }) {
  const readiness = readinessOf(agent)
  const can = (Object.entries(agent.capabilities) as [CapabilityName, boolean][]).filter(([, has]) => has)
  return (
    <article aria-label={agent.name} className="rounded-lg border border-line bg-card">
      <div className="px-3.5 py-2.5">
        <h2 className="flex items-baseline gap-2 text-sm font-semibold">
          {agent.name}
          <span className="font-mono text-xs font-normal text-faint">{agent.version}</span>
          <span className="ml-auto flex items-center gap-1.5 text-xs font-normal text-soft">
            <span className={`size-2 rounded-full ${states[readiness].look}`} aria-hidden />{' '}
            {states[readiness].text}
          </span>
        </h2>
        {agent.description && <p className="text-sm text-soft">{agent.description}</p>}
        {agent.path && (
          <p className="pt-1 font-mono text-xs [overflow-wrap:anywhere] text-faint">{agent.path}</p>
        )}
        {agent.models && agent.models.length > 0 && (
          <p className="pt-1 text-xs text-soft">Models: {agent.models.map(({ name }) => name).join(', ')}</p>
        )}
        <details className="pt-1 text-xs text-soft">
          <summary className="w-fit rounded hover:text-ink pointer-coarse:py-3.5">
            What it can do ({can.length})
          </summary>
          <p className="pt-1">{can.map(([name]) => name).join(', ')}</p>
        </details>
      </div>
      {readiness !== 'ready' && agent.hint && !(readiness === 'missing' && agent.install) && (
        <Hint text={agent.hint} command={agent.command} />
      )}
      <InstallRow agent={agent} />
    </article>
  )
}
