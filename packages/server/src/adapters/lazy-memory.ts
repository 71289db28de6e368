import type { AgentMemory } from '../core/agent-adapter.ts'

/** The memory of an agent whose code is loaded when somebody first asks for it, so that a server starts without it. */
export function lazyMemory(load: () => Promise<AgentMemory>, idOf?: AgentMemory['idOf']): AgentMemory {
  return {
    list: async (query, signal) => (await load()).list(query, signal),
    async *read(agentSessionId, signal) {
      yield* (await load()).read(agentSessionId, signal)
    },
    ...(idOf && { idOf }),
  }
}
