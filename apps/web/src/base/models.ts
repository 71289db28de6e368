import type { AgentInfo, AgentModel } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from './client.ts'
import { createStore, useStore } from './store.ts'

type Known = Readonly<Record<string, readonly AgentModel[]>>

/** The models of agents whose probe does not list models, fetched on first use. */
const listed = createStore<Known>({})
let loading = false

async function loadModels(): Promise<void> {
  if (loading) return
  loading = true
  try {
    const { agents } = await client.call('listModels')
    listed.set(Object.fromEntries(agents.map(({ agent, models }) => [agent, models])))
  } catch {
    // If the list cannot be fetched, the agent's default is used, and the next component that needs the list
    // fetches it again.
  } finally {
    loading = false
  }
}

const none: readonly AgentModel[] = []

export function useModels(agent: AgentInfo | undefined): readonly AgentModel[] {
  const known = useStore(listed)
  const probed = agent?.capabilities.models ? (agent.models ?? none) : none
  const models = probed.length > 0 || !agent?.capabilities.models ? probed : (known[agent.id] ?? none)
  const isWanted = agent?.capabilities.models === true && agent.found && models.length === 0
  useEffect(() => {
    if (isWanted) void loadModels()
  }, [isWanted])
  return models
}
