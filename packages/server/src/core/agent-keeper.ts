import type { AgentAdapter } from '@parley/adapter-kit'
import { type AgentCheck, type AgentInfo, AgentKey, NewAgent, ParleyError } from '@parley/protocol'
import { checked } from './checked.ts'

/** Stores the agents and keys that people configure, and tests agents. The implementation is outside core. */
export type AgentKeeper = {
  /** The stored part of an agent's description. */
  stateOf(agent: string): Pick<AgentInfo, 'added' | 'keysSet' | 'module'>
  /**
   * Stores an agent and returns its adapter. If it cannot be stored, rejects with a ParleyError and stores
   * nothing.
   */
  add(agent: NewAgent): Promise<AgentAdapter>
  /** Removes an agent that a person added. Rejects with ParleyError `not_supported` for any other agent. */
  forget(agent: string): Promise<void>
  /**
   * Sets or removes a key and returns the changed agent. Rejects with ParleyError `validation_error` for a
   * variable that is not one of its keys.
   */
  setKey(agent: AgentAdapter, variable: string, value: string | undefined): Promise<AgentAdapter>
  /** Starts the agent and ends it again. Sends nothing to a model. Never rejects. */
  test(agent: AgentAdapter): Promise<AgentCheck[]>
}

export type AgentKeeping = {
  addAgent(agent: NewAgent): Promise<AgentInfo>
  forgetAgent(agent: string): Promise<void>
  setAgentKey(agent: string, key: AgentKey): Promise<void>
  removeAgentKey(agent: string, variable: string): Promise<void>
  testAgent(agent: string): Promise<AgentCheck[]>
}

export function createAgentKeeping(parts: {
  readonly adapters: Map<string, AgentAdapter>
  readonly keeper: AgentKeeper | undefined
  readonly adapterFor: (agent: string) => AgentAdapter
  readonly described: (adapter: AgentAdapter) => Promise<AgentInfo>
  readonly changed: () => void
}): AgentKeeping {
  const { adapters, adapterFor, described, changed } = parts
  const keeper = (): AgentKeeper => {
    if (parts.keeper) return parts.keeper
    throw new ParleyError(
      'not_supported',
      'Agents cannot be added here: the program that embeds this server configures them.',
    )
  }
  const replace = (adapter: AgentAdapter) => {
    adapters.set(adapter.id, adapter)
    changed()
    return adapter
  }

  return {
    async addAgent(given) {
      const agent = checked(NewAgent, given, 'The agent')
      if (adapters.has(agent.id)) {
        throw new ParleyError('conflict', `The agent "${agent.id}" already exists. Choose another id.`)
      }
      return described(replace(await keeper().add(agent)))
    },
    async forgetAgent(agent) {
      adapterFor(agent)
      await keeper().forget(agent)
      adapters.delete(agent)
      changed()
    },
    async setAgentKey(agent, given) {
      const { variable, value } = checked(AgentKey, given, 'The key')
      replace(await keeper().setKey(adapterFor(agent), variable, value))
    },
    async removeAgentKey(agent, variable) {
      replace(await keeper().setKey(adapterFor(agent), variable, undefined))
    },
    testAgent: async (agent) => keeper().test(adapterFor(agent)),
  }
}

/** The current adapter of an agent, even for a session that was opened before the agent was changed. */
export function currentAdapter(
  adapters: ReadonlyMap<string, AgentAdapter>,
  agent: string,
): AgentAdapter | undefined {
  const first = adapters.get(agent)
  if (!first) return undefined
  return new Proxy(first, {
    get(_, name) {
      const now = adapters.get(agent)
      if (now) return Reflect.get(now, name)
      return name === 'connect' ? async () => removed(agent) : Reflect.get(first, name)
    },
  })
}

function removed(agent: string): never {
  throw new ParleyError(
    'agent_not_found',
    `The agent "${agent}" was removed. Add it again to continue this session.`,
  )
}
