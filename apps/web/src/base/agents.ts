import type { AdapterFailure, AgentInfo, NodeInfo, ParleyError } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from './client.ts'
import { createPersistedStore } from './persisted-store.ts'
import { createStore, useStore } from './store.ts'

export type Agents = {
  readonly status: 'unasked' | 'asking' | 'known' | 'failed'
  readonly agents: readonly AgentInfo[]
  /** The adapters of config.json that were not loaded; administrators see them. */
  readonly failures?: readonly AdapterFailure[] | undefined
  /** The node that listed the agents, if several servers can share a database. */
  readonly node?: Pick<NodeInfo, 'url' | 'machine'> | undefined
  readonly error?: ParleyError
}

const agents = createStore<Agents>({ status: 'unasked', agents: [] })

/**
 * The names of the agents from the last listing. They are stored, because probing the agents takes a while
 * and a session contains only its agent's id.
 */
const names = createPersistedStore<Readonly<Record<string, string>>>('agent-names', {})

/** Lists the agents on the server's machine; the server probes each of them. */
export async function loadAgents(): Promise<void> {
  if (agents.get().status === 'asking') return
  agents.set(({ agents: known, failures, node }) => ({ status: 'asking', agents: known, failures, node }))
  try {
    const reply = await client.call('listAgents')
    const { failures, node } = reply
    agents.set({ status: 'known', agents: reply.agents, failures, node })
    names.set(Object.fromEntries(reply.agents.map(({ id, name }) => [id, name])))
  } catch (thrown) {
    agents.set((before) => ({ ...before, status: 'failed', error: thrown as ParleyError }))
    const stop = client.socket.onStatus(({ state }) => {
      if (state !== 'open') return
      stop()
      if (agents.get().status === 'failed') void loadAgents()
    })
  }
}

export function useAgents(): Agents {
  useEffect(() => {
    if (agents.get().status === 'unasked') void loadAgents()
  }, [])
  return useStore(agents)
}

export function useAgent(id: string): AgentInfo | undefined {
  return useAgents().agents.find((agent) => agent.id === id)
}

export function useAgentName(id: string): string {
  return useAgentNames()(id)
}

/** The name of an agent, for code that is not a component. */
export function agentNameOf(id: string): string {
  return agents.get().agents.find((agent) => agent.id === id)?.name ?? names.get()[id] ?? id
}

export function useAgentNames(): (id: string) => string {
  const { agents: known } = useAgents()
  const stored = useStore(names)
  return (id) => known.find((agent) => agent.id === id)?.name ?? stored[id] ?? id
}
