import type { AgentInfo } from '@parley/protocol'
import { RefreshCw } from 'lucide-react'
import { type Agents, loadAgents } from '../base/agents.ts'
import { AgentNextStep, AgentState } from '../parts/agents/agent-state.tsx'

type AgentChoiceProps = {
  agents: readonly AgentInfo[]
  status: Agents['status']
  error: string | undefined
  chosen: string | undefined
  onChoose: (id: string) => void
}

/** Lets the person choose one of the agents that the server's last probe reported. */
export function AgentChoice({ agents, status, error, chosen, onChoose }: AgentChoiceProps) {
  const asking = status === 'asking' || status === 'unasked'
  const here = agents.filter((agent) => agent.found || agent.installing)
  const others = agents.filter((agent) => !here.includes(agent))
  return (
    <fieldset className="min-w-0 pt-4">
      <legend className="float-left pb-2 text-xs pointer-coarse:pt-3.5 font-semibold tracking-wide text-faint uppercase">
        Agents on this machine
      </legend>
      <button
        type="button"
        onClick={() => void loadAgents()}
        className="float-right flex items-center gap-1 rounded px-1 text-xs text-soft hover:text-ink pointer-coarse:min-h-11"
      >
        <RefreshCw size={12} aria-hidden className={asking ? 'animate-spin' : ''} /> Refresh
      </button>
      <div className="clear-both flex flex-col gap-1.5">
        {here.map((agent) => (
          <AgentOption key={agent.id} agent={agent} chosen={agent.id === chosen} onChoose={onChoose} />
        ))}
        {others.length > 0 && (
          <details>
            <summary className="w-fit rounded py-1.5 text-sm text-soft hover:text-ink pointer-coarse:py-3">
              Not installed: {others.map(({ name }) => name).join(', ')}.{' '}
              <span className="whitespace-nowrap text-mark underline">How to install</span>
            </summary>
            <div className="flex flex-col gap-1.5 pt-1.5">
              {others.map((agent) => (
                <AgentOption key={agent.id} agent={agent} chosen={false} onChoose={onChoose} />
              ))}
            </div>
          </details>
        )}
        {agents.length === 0 && asking && <p className="py-3 text-sm text-faint">Looking for agents…</p>}
        {error && agents.length === 0 && <p className="py-3 text-sm text-bad">{error}</p>}
      </div>
    </fieldset>
  )
}

type AgentOptionProps = { agent: AgentInfo; chosen: boolean; onChoose: (id: string) => void }

function AgentOption({ agent, chosen, onChoose }: AgentOptionProps) {
  return (
    <div
      className={`rounded-lg border ${chosen ? 'border-mark bg-mark-wash' : 'border-line bg-card'} ${agent.found ? '' : 'opacity-80'}`}
    >
      <label className="flex min-h-11 items-center gap-3 px-3 py-1.5">
        <input
          type="radio"
          name="agent"
          value={agent.id}
          checked={chosen}
          disabled={!agent.found}
          onChange={() => onChoose(agent.id)}
          className="accent-mark-fill"
        />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className="text-sm font-semibold">{agent.name}</span>
            {agent.version && <span className="font-mono text-xs text-faint">{agent.version}</span>}
          </span>
          {agent.description && <span className="block text-xs text-soft">{agent.description}</span>}
        </span>
        <AgentState agent={agent} />
      </label>
      <AgentNextStep agent={agent} />
    </div>
  )
}
