import type { AgentMemory } from '../core/agent-adapter.ts'

/** An agent's memory whose code is loaded on first use, so that a server starts without it. */
export function lazyMemory(load: () => Promise<AgentMemory>, idOf?: AgentMemory['idOf']): AgentMemory {
  return {
    list: async (query, signal) => (await load()).list(query, signal),
    async *read(agentSessionId, signal) {
      yield* (await load()).read(agentSessionId, signal)
    },
    ...(idOf && { idOf }),
  }
}
