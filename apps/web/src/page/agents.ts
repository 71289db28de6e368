import type { AgentInfo, ParleyError } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from './client.ts'
import { createStore, useStore } from './store.ts'

export type Agents = {
  readonly status: 'unasked' | 'asking' | 'known' | 'failed'
  readonly agents: readonly AgentInfo[]
  readonly error?: ParleyError
}

const agents = createStore<Agents>({ status: 'unasked', agents: [] })

/** Looks for the agents on the server's machine, each by a real probe. */
export async function askForAgents(): Promise<void> {
  if (agents.get().status === 'asking') return
  agents.set((before) => ({ status: 'asking', agents: before.agents }))
  try {
    const reply = await client.call('listAgents')
    agents.set({ status: 'known', agents: reply.agents })
  } catch (thrown) {
    agents.set((before) => ({ status: 'failed', agents: before.agents, error: thrown as ParleyError }))
  }
}

client.socket.onStatus(({ state }) => {
  if (state === 'open' && agents.get().status === 'failed') void askForAgents()
})

export function useAgents(): Agents {
  useEffect(() => {
    if (agents.get().status === 'unasked') void askForAgents()
  }, [])
  return useStore(agents)
}

export function useAgent(id: string): AgentInfo | undefined {
  return useAgents().agents.find((agent) => agent.id === id)
}
