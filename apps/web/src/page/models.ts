import type { AgentInfo, AgentModel } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from './client.ts'
import { createStore, useStore } from './store.ts'

type Known = Readonly<Record<string, readonly AgentModel[]>>

/** Models of agents whose probe does not tell them, once somebody wanted to know. */
const told = createStore<Known>({})
let asking = false

async function ask(): Promise<void> {
  if (asking) return
  asking = true
  try {
    const { agents } = await client.call('listModels')
    told.set(Object.fromEntries(agents.map(({ agent, models }) => [agent, models])))
  } catch {
    // Without them the agent's own default is used; the next page that wants them asks again.
  } finally {
    asking = false
  }
}

const none: readonly AgentModel[] = []

/** The models that a session of this agent can be made with. */
export function useModels(agent: AgentInfo | undefined): readonly AgentModel[] {
  const known = useStore(told)
  const probed = agent?.capabilities.models ? (agent.models ?? none) : none
  const models = probed.length > 0 || !agent?.capabilities.models ? probed : (known[agent.id] ?? none)
  const isWanted = agent?.capabilities.models === true && agent.found && models.length === 0
  useEffect(() => {
    if (isWanted) void ask()
  }, [isWanted])
  return models
}
