import type { AgentInfo, CapabilityName, NewAgent } from '@parley/protocol'
import { RefreshCw } from 'lucide-react'
import { loadAgents, useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { useNodes } from '../base/nodes.ts'
import { useMay } from '../base/self.ts'
import { AgentNextStep, AgentState } from '../parts/agents/agent-state.tsx'
import { InstallRow } from '../parts/agents/install-button.tsx'
import { nextStep } from '../parts/agents/readiness.logic.ts'
import { Button } from '../parts/button.tsx'
import { AddForm } from './add-form.tsx'
import { agentOf, emptyAgent } from './agent-form.logic.ts'
import { AgentSetup } from './agent-setup.tsx'
import { agentsPurpose } from './agents-purpose.logic.ts'
import { MessagesNote } from './messages-note.tsx'
import { Section } from './section.tsx'

export function AgentsSection() {
  const { agents, failures = [], node, status, error } = useAgents()
  const { purpose, note } = agentsPurpose(node, useNodes().nodes)
  const asking = status === 'asking'
  const administers = useMay('admin')
  return (
    <Section
      title="Agents"
      purpose={purpose}
      adminWork="Setting agents up"
      beside={
        <Button onClick={() => void loadAgents()} disabled={asking}>
          <RefreshCw size={14} aria-hidden className={asking ? 'animate-spin' : ''} /> Refresh
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        {note !== undefined && <p className="text-sm text-pretty text-soft">{note}</p>}
        {error && <p className="text-sm text-bad">{errorText(error)}</p>}
        {failures.map(({ module, error: { message } }) => (
          <p key={module} className="text-sm text-pretty [overflow-wrap:anywhere] text-bad">
            {message}
          </p>
        ))}
        {agents.map((agent) => (
          <AgentCard key={agent.id} agent={agent} />
        ))}
      </div>
      {administers && <AddAgent />}
    </Section>
  )
}

function AgentCard({ agent }: { agent: AgentInfo }) {
  const administers = useMay('admin')
  const can = (Object.entries(agent.capabilities) as [CapabilityName, boolean][]).filter(([, has]) => has)
  return (
    <article aria-label={agent.name} className="rounded-lg border border-line bg-card">
      <div className="px-3 py-2.5">
        <h3 className="flex items-baseline gap-2 text-sm font-semibold">
          {agent.name}
          <span className="min-w-0 flex-1 truncate text-xs font-normal text-faint">{agent.version}</span>
          <AgentState agent={agent} />
        </h3>
        {agent.description && <p className="text-sm text-soft">{agent.description}</p>}
        {agent.path && <p className="pt-1 text-xs [overflow-wrap:anywhere] text-faint">{agent.path}</p>}
        {agent.module && (
          <p className="pt-1 text-xs [overflow-wrap:anywhere] text-faint">
            Adapter from config.json: {agent.module}
          </p>
        )}
        {agent.models && agent.models.length > 0 && (
          <p className="pt-1 text-xs text-soft">Models: {agent.models.map(({ name }) => name).join(', ')}</p>
        )}
        <details className="pt-1 text-xs text-soft">
          <summary className="w-fit rounded hover:text-ink pointer-coarse:py-3.5">
            Capabilities ({can.length})
          </summary>
          <p className="pt-1">{can.map(([name]) => name).join(', ')}</p>
        </details>
        {agent.unrecognised && <MessagesNote unrecognised={agent.unrecognised} />}
      </div>
      <AgentNextStep agent={agent} />
      {administers && nextStep(agent) !== 'install' && <InstallRow agent={agent} />}
      {administers && (agent.found || agent.added) && <AgentSetup agent={agent} />}
    </article>
  )
}

const addAgent = (body: NewAgent) => client.call('addAgent', { body })

/** Adds a program that speaks the Agent Client Protocol. */
function AddAgent() {
  const form = { empty: emptyAgent, read: agentOf, send: addAgent, onAdded: () => void loadAgents() }
  return (
    <AddForm button="Add an agent" label="New agent" {...form}>
      {({ text }) => (
        <>
          <p className="text-pretty text-soft">
            A program that speaks the Agent Client Protocol (ACP). It runs on the server’s machine with your
            rights: add only programs that you trust.
          </p>
          <div className="grid gap-3 sm:grid-cols-2">
            {text('id', 'Id (lowercase letters, digits, dashes)', 'my-agent', { first: true })}
            {text('name', 'Name (default: the id)', 'My agent')}
            {text('command', 'Command (full path, or a name on the PATH)', 'my-agent')}
            {text('args', 'Arguments (separated by spaces)', '--acp')}
          </div>
        </>
      )}
    </AddForm>
  )
}
